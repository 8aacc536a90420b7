package harness

import "reflect"

// updatePodStatus carries over what a client may leave out of a pod's status
// (kubernetes pkg/registry/core/pod/strategy.go, podStatusStrategy).
func (r *Request) updatePodStatus() {
	status, ok := r.Object["status"].(map[string]any)
	old, oldOK := r.OldObject["status"].(map[string]any)
	if r.Resource.GroupResource() != podResource || !ok || !oldOK {
		return
	}
	for _, field := range []string{"qosClass", "resourceClaimStatuses", "extendedResourceClaimStatus", "nodeAllocatableResourceClaimStatuses"} {
		if _, has := status[field]; !has {
			carry(status, old, field)
		}
	}
}

// updateEphemeralContainers keeps only the containers of the update
// (kubernetes pkg/registry/core/pod/strategy.go, dropNonEphemeralContainerUpdates).
func (r *Request) updateEphemeralContainers() {
	spec, _ := r.Object["spec"].(map[string]any)
	containers, ok := spec["ephemeralContainers"]
	updated := copyObject(r.OldObject)
	updatedSpec, _ := updated["spec"].(map[string]any)
	if updatedSpec == nil {
		updatedSpec = map[string]any{}
		updated["spec"] = updatedSpec
	}
	delete(updatedSpec, "ephemeralContainers")
	if ok {
		updatedSpec["ephemeralContainers"] = containers
	}
	r.Object = updated
}

// resizePod keeps only the resources of the update's containers, and of the pod
// (kubernetes pkg/registry/core/pod/strategy.go, dropNonResizeUpdates and updatePodGeneration).
// Containers that are added, removed or renamed are left for the server to refuse.
func (r *Request) resizePod() {
	resized := copyObject(r.OldObject)
	spec, _ := resized["spec"].(map[string]any)
	wanted, _ := r.Object["spec"].(map[string]any)
	if spec == nil || wanted == nil {
		return
	}
	for _, field := range []string{"containers", "initContainers"} {
		if !takeResources(spec[field], wanted[field]) {
			return
		}
	}
	if _, ok := wanted["resources"]; ok {
		carry(spec, wanted, "resources")
	}
	old, _ := r.OldObject["spec"].(map[string]any)
	if m := metadata(resized); !reflect.DeepEqual(spec, old) {
		if g, ok := m["generation"].(int64); ok {
			m["generation"] = g + 1
		}
	}
	r.Object = resized
}

// takeResources gives containers the resources of others of the same names in the same order, and
// tells whether they are.
func takeResources(containers, from any) bool {
	to, _ := containers.([]any)
	wanted, _ := from.([]any)
	if len(to) != len(wanted) {
		return false
	}
	for i := range to {
		c, ok := to[i].(map[string]any)
		w, wantedOK := wanted[i].(map[string]any)
		if !ok || !wantedOK || c["name"] != w["name"] {
			return false
		}
		carry(c, w, "resources")
		carry(c, w, "resizePolicy")
	}
	return true
}
