// Package authn writes the AuthenticationConfiguration of a test's API server.
package authn

import (
	"fmt"
	"os"

	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"sigs.k8s.io/yaml"
)

// Config returns a configuration with the given authenticators. Anonymous requests are
// accepted on the health endpoints only.
func Config(authenticators ...apiserverv1.JWTAuthenticator) *apiserverv1.AuthenticationConfiguration {
	c := &apiserverv1.AuthenticationConfiguration{
		JWT: authenticators,
		Anonymous: &apiserverv1.AnonymousAuthConfig{Enabled: true, Conditions: []apiserverv1.AnonymousAuthCondition{
			{Path: "/livez"}, {Path: "/readyz"}, {Path: "/healthz"},
		}},
	}
	c.APIVersion, c.Kind = apiserverv1.SchemeGroupVersion.String(), "AuthenticationConfiguration"
	return c
}

// Subject returns an authenticator that takes the user name from the claim sub, prefixed, and
// the groups from the claim groups, prefixed likewise.
func Subject(issuer string, ca []byte, audience, prefix string) apiserverv1.JWTAuthenticator {
	return apiserverv1.JWTAuthenticator{
		Issuer: apiserverv1.Issuer{URL: issuer, CertificateAuthority: string(ca), Audiences: []string{audience}},
		ClaimMappings: apiserverv1.ClaimMappings{
			Username: apiserverv1.PrefixedClaimOrExpression{Claim: "sub", Prefix: &prefix},
			Groups:   apiserverv1.PrefixedClaimOrExpression{Claim: "groups", Prefix: &prefix},
		},
	}
}

// Write stores the configuration by a rename: a server that reloads the file in the middle of
// a write in place takes the half of it for a broken configuration.
func Write(path string, c *apiserverv1.AuthenticationConfiguration) error {
	b, err := yaml.Marshal(c)
	if err != nil {
		return fmt.Errorf("authentication configuration: %w", err)
	}
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
