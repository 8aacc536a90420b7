// Command kone is the control plane and node of the end-to-end tests in one binary: etcd,
// kube-apiserver, kube-controller-manager and kubelet, each as a subcommand of its own name.
// Apart from etcd the subcommands take the flags of the Kubernetes components they are.
package main

import (
	"context"
	"fmt"
	"os"
	_ "time/tzdata" // the CronJob controller resolves time zones

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var components = map[string]func() *cobra.Command{
	"etcd":                    etcdCommand,
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
}

func main() {
	if len(os.Args) < 2 || components[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: kone etcd|kube-apiserver|kube-controller-manager|kubelet [flags]")
		os.Exit(2)
	}
	component := components[os.Args[1]]
	os.Args = os.Args[1:]
	os.Exit(cli.Run(component()))
}
