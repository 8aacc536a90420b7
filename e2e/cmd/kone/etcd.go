package main

import (
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
)

// etcdCommand runs one etcd member. It does not sync to disk: nothing in it outlives a test.
func etcdCommand() *cobra.Command {
	var dir, client, peer string
	cmd := &cobra.Command{
		Use:          "etcd",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE:         func(*cobra.Command, []string) error { return runEtcd(dir, client, peer) },
	}
	cmd.Flags().StringVar(&dir, "data-dir", "", "folder of the data")
	cmd.Flags().StringVar(&client, "client-url", "", "URL to serve clients on")
	cmd.Flags().StringVar(&peer, "peer-url", "", "URL to serve peers on")
	return cmd
}

func runEtcd(dir, client, peer string) error {
	clientURL, err := url.Parse(client)
	if err != nil {
		return fmt.Errorf("client URL: %w", err)
	}
	peerURL, err := url.Parse(peer)
	if err != nil {
		return fmt.Errorf("peer URL: %w", err)
	}
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel, cfg.UnsafeNoFsync = dir, "warn", true
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*clientURL}, []url.URL{*clientURL}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peerURL}, []url.URL{*peerURL}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	member, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	defer member.Close()
	select {
	case <-stop:
		return nil
	case err := <-member.Err():
		return err
	}
}
