package rights

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"hangar.io/holdshort/cel/fixture"
	"hangar.io/holdshort/cel/harness"
	"hangar.io/holdshort/e2e/kit/send"
	"hangar.io/holdshort/e2e/kit/wait"
)

// Step is one request of a session and what became of it.
type Step struct {
	Name string
	// By says who refused it; empty: it was done, or, for a connection, admitted.
	By string
	// Fault, unless empty, says how that differs from what has to be.
	Fault string
}

// session runs the steps of one kind of session on A, as the writer.
type session struct {
	*Stage
	steps []Step
}

const (
	rbac     = "RBAC"
	admitted = ""
)

// Live is the path of a session inside a running pod. Every request of it is first refused: the
// rights come with the grant and go with it.
func (s *Stage) Live(ctx context.Context) ([]Step, error) {
	grant, err := s.example(ctx, "breakglass-rolebinding", admission.Create, s.Profile.Names.Roles.Live)
	if err != nil {
		return nil, err
	}
	debug, err := s.example(ctx, "breakglass-debug-container", admission.Update, "")
	if err != nil {
		return nil, err
	}
	grant.Request.Namespace = debug.Request.Namespace
	if _, _, err := s.Judge.Ask(ctx, debug, s.A); err != nil { // makes the pod
		return nil, err
	}
	run := &session{Stage: s}
	attach, attachApp, restart := s.attach(debug.Request, debugContainer(debug.Request)), s.attach(debug.Request, appContainer(debug.Request)), s.remove(debug.Request, "pods", debug.Request.Name)
	err = errors.Join(
		run.try(ctx, "at rest: a debug container", debug.Request, rbac),
		run.try(ctx, "at rest: attach", attach, rbac),
		run.try(ctx, "at rest: restart the pod", restart, rbac),
		run.try(ctx, "the grant", grant.Request, admitted),
		run.await(ctx, "a debug container", debug.Request, admitted),
		run.try(ctx, "attach to it", attach, admitted),
		run.try(ctx, "attach to the app", attachApp, s.attachPolicies()...),
		run.try(ctx, "restart the pod", restart, admitted),
		run.try(ctx, "the grant's end", s.remove(grant.Request, "rolebindings", objectName(grant.Request)), admitted),
		run.await(ctx, "afterwards: attach", attach, rbac),
		run.try(ctx, "afterwards: restart", restart, rbac),
	)
	return run.steps, err
}

// Copy is the path of a session in a copy of a pod.
func (s *Stage) Copy(ctx context.Context) ([]Step, error) {
	grant, err := s.example(ctx, "breakglass-rolebinding", admission.Create, s.Profile.Names.Roles.Copy)
	if err != nil {
		return nil, err
	}
	copied, err := s.example(ctx, "breakglass-debug-container", admission.Create, "")
	if err != nil {
		return nil, err
	}
	grant.Request.Namespace = copied.Request.Namespace
	run := &session{Stage: s}
	attach := s.attach(copied.Request, debugContainer(copied.Request))
	end := s.remove(copied.Request, "pods", objectName(copied.Request))
	err = errors.Join(
		run.try(ctx, "at rest: a copy", copied.Request, rbac),
		run.try(ctx, "the grant", grant.Request, admitted),
		run.await(ctx, "a copy", copied.Request, admitted),
		run.try(ctx, "attach to its debug container", attach, admitted),
		run.try(ctx, "attach to the app's copy", s.attach(copied.Request, appContainer(copied.Request)), s.attachPolicies()...),
		run.try(ctx, "the copy's end", end, admitted),
		run.try(ctx, "the grant's end", s.remove(grant.Request, "rolebindings", objectName(grant.Request)), admitted),
		run.await(ctx, "afterwards: a copy", copied.Request, rbac),
	)
	return run.steps, err
}

// example is the first case of a policy in which an operation of the writer is admitted, by all
// policies together, and that names the role if one is given. What a session does is at the top of
// each fixture file.
func (s *Stage) example(ctx context.Context, policy string, operation admission.Operation, role string) (fixture.Case, error) {
	writer := s.Profile.Identities.Writer.Username()
	for _, g := range s.Suite.Groups {
		for _, c := range g.Cases {
			if g.Policy != policy || c.Expect.Outcome != fixture.Allow || c.Request.Operation != operation || c.Request.User.Name != writer || c.Request.DryRun {
				continue
			}
			if ref, _ := c.Request.Object["roleRef"].(map[string]any); role != "" && ref["name"] != role {
				continue
			}
			if fixture.RunSet(ctx, s.Suite.Set, c).Verdict.Decision == harness.Allowed {
				return c, nil
			}
		}
	}
	return fixture.Case{}, fmt.Errorf("of the cases of %s, none in which the writer's %s is admitted is admitted by all policies", policy, operation)
}

func (s *Stage) attach(pod harness.Request, container string) harness.Request {
	r := s.on(pod, "pods", podName(pod))
	r.Operation, r.Subresource = admission.Connect, "attach"
	r.Object = map[string]any{"container": container, "stdin": true, "stdout": true, "tty": true}
	return r
}

func (s *Stage) remove(of harness.Request, resource, name string) harness.Request {
	r := s.on(of, resource, name)
	r.Operation = admission.Delete
	r.Options = map[string]any{"gracePeriodSeconds": int64(0)}
	return r
}

// on is a request of the same user in the same namespace, without an operation.
func (s *Stage) on(of harness.Request, resource, name string) harness.Request {
	r := harness.Request{User: of.User, Namespace: of.Namespace, Name: name}
	r.Resource = kschema.GroupVersionResource{Group: "", Version: "v1", Resource: resource}
	if resource == of.Resource.Resource {
		r.Resource = of.Resource
	}
	return r
}

// attachPolicies are those that refuse to attach to an app. Which of several speaks is random.
func (s *Stage) attachPolicies() []string {
	policies := s.Suite.Set.Policies()
	return slices.DeleteFunc([]string{"breakglass-attach", "no-exec"}, func(p string) bool { return !slices.Contains(policies, p) })
}

// try sends a request once and compares who refuses it with those who may.
func (s *session) try(ctx context.Context, name string, r harness.Request, want ...string) error {
	by, answer, err := s.send(ctx, r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.note(name, by, want, answer)
	return nil
}

// await is try, once RBAC has reached the server: it sends the request until the answer is as
// wanted, or the time is over.
func (s *session) await(ctx context.Context, name string, r harness.Request, want string) error {
	var by string
	var answer *send.Answer
	err := wait.Until(ctx, arrival, name, func(ctx context.Context) error {
		latest, got, err := s.send(ctx, r)
		if err != nil {
			return err
		}
		if by, answer = latest, got; by != want {
			return errors.New(answer.Status.Message)
		}
		return nil
	})
	if answer == nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.note(name, by, []string{want}, answer)
	return nil
}

func (s *session) note(name, by string, want []string, answer *send.Answer) {
	step := Step{Name: name, By: by}
	if !slices.Contains(want, by) {
		step.Fault = fmt.Sprintf("refused by %q, expected %q: %d %s", by, want, answer.Code, answer.Status.Message)
	}
	s.steps = append(s.steps, step)
}

// send sends a request to A and says who refuses it.
func (s *session) send(ctx context.Context, r harness.Request) (string, *send.Answer, error) {
	if r.Operation == admission.Update {
		stored, err := s.Servers.Dynamic.Resource(r.Resource).Namespace(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
		if err != nil {
			return "", nil, err
		}
		object := stored.DeepCopy()
		spec, _ := r.Object["spec"].(map[string]any)
		if err := setEphemeral(object.Object, spec["ephemeralContainers"]); err != nil {
			return "", nil, err
		}
		r.Object = object.Object
	}
	answer, err := send.Do(ctx, s.A, s.Suite.Groups[0].Cases[0].Cluster.Resources, r)
	if err != nil {
		return "", nil, err
	}
	by, ok := refusedBy(answer)
	switch {
	case ok:
		return by, answer, nil
	case answer.Code < http.StatusBadRequest:
		return admitted, answer, nil
	case r.Operation == admission.Connect && strings.Contains(answer.Status.Message, "does not have a host assigned"):
		// Authorization and admission let it through; there is no node.
		return admitted, answer, nil
	}
	return "", answer, fmt.Errorf("an answer of another kind: %d %s", answer.Code, answer.Status.Message)
}

func setEphemeral(object map[string]any, containers any) error {
	spec, ok := object["spec"].(map[string]any)
	if !ok {
		return errors.New("the stored pod has no spec")
	}
	spec["ephemeralContainers"] = runtime.DeepCopyJSONValue(containers)
	return nil
}

// podName is the name of the pod that a request is about.
func podName(r harness.Request) string {
	if r.Name != "" {
		return r.Name
	}
	return objectName(r)
}

func objectName(r harness.Request) string {
	metadata, _ := r.Object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}

// debugContainer is the name of the last debug container of a pod, appContainer that of its first
// other one.
func debugContainer(r harness.Request) string {
	name := ""
	for _, c := range containers(r) {
		if strings.HasPrefix(c, "debug-") {
			name = c
		}
	}
	return name
}

func appContainer(r harness.Request) string {
	for _, c := range containers(r) {
		if !strings.HasPrefix(c, "debug-") {
			return c
		}
	}
	return ""
}

func containers(r harness.Request) []string {
	var names []string
	spec, _ := r.Object["spec"].(map[string]any)
	for _, field := range []string{"containers", "ephemeralContainers"} {
		list, _ := spec[field].([]any)
		for _, c := range list {
			if m, ok := c.(map[string]any); ok {
				name, _ := m["name"].(string)
				names = append(names, name)
			}
		}
	}
	return names
}
