package main

// sources are the Kubernetes releases that the tables are made from: the newest patch of every
// minor version in the resource table's range, oldest first. The last one is also the version
// that this module links.
var sources = []release{
	{30, "v1.30.14"},
	{31, "v1.31.14"},
	{32, "v1.32.13"},
	{33, "v1.33.13"},
	{34, "v1.34.4"},
	{35, "v1.35.4"},
	{36, "v1.36.3"},
	{37, "v1.37.2"},
}

// release is one released version of Kubernetes.
type release struct {
	minor   int
	version string
}
