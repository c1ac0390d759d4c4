package arch_test

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestLinksInDocsLeadSomewhere follows the links between this module's own texts.
func TestLinksInDocsLeadSomewhere(t *testing.T) {
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md", "bench/*.md"} {
		names, err := fs.Glob(root(), pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			for _, link := range deadLinks(t, root(), name) {
				t.Errorf("%s: the link %s leads nowhere", name, link)
			}
		}
	}
}

func TestDeadLinksAreFound(t *testing.T) {
	tree := fstest.MapFS{
		"docs/a.md": {Data: []byte("# A title, with `code`\n[1](b.md) [2](../c.md) [3](#a-title-with-code) [4](b.md#part) [5](https://example.org/x)\n" +
			"[6](gone.md) [7](#gone) [8](b.md#gone)\n")},
		"docs/b.md": {Data: []byte("## Part\n```sh\n# no title\n```\n")},
		"c.md":      {},
	}
	if got := deadLinks(t, tree, "docs/a.md"); !slices.Equal(got, []string{"gone.md", "#gone", "b.md#gone"}) {
		t.Errorf("dead links: %v", got)
	}
}

var (
	linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fenced     = regexp.MustCompile("(?ms)^```.*?^```")
	heading    = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	notInSlug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

func deadLinks(t *testing.T, tree fs.FS, name string) []string {
	t.Helper()
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		t.Fatal(err)
	}
	var dead []string
	for _, m := range linkTarget.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		target, anchor, _ := strings.Cut(m[1], "#")
		if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		file := name
		if target != "" {
			file = path.Join(path.Dir(name), target)
		}
		if _, err := fs.Stat(tree, file); err != nil || anchor != "" && !slices.Contains(slugs(tree, file), anchor) {
			dead = append(dead, m[1])
		}
	}
	return dead
}

// slugs returns the anchors of a text's headings, made as code hosts make them.
func slugs(tree fs.FS, name string) []string {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil
	}
	var all []string
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		slug := notInSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), "")
		all = append(all, strings.ReplaceAll(slug, " ", "-"))
	}
	return all
}
