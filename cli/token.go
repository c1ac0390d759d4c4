package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ruqi-dev/ruqi"
	"github.com/ruqi-dev/ruqi/httpapi"
)

const (
	tokenFile   = "admin-token"  // in the data directory
	draftPrefix = "admin-token-" // of files of tokens that have not got their name yet
	tokenKind   = "token"        // of the record; its key is the token's name
	adminName   = "admin"
	tokenBytes  = 32 // 256 bits: nobody guesses it, so nothing needs to slow down guesses
	tokenPrefix = "rq_"
)

// tokenRecord is what a store keeps of a token.
type tokenRecord struct {
	SHA256 string `json:"sha256"`
}

// tokenWish says which token a start is to serve with.
type tokenWish int

const (
	storesToken tokenWish = iota // the one that the store knows, or the first
	freshToken                   // a new one, in any case
)

// adminToken returns the hash of the store's admin token, and what there is to say of it. A store
// that has none takes the one in the data directory, or a new one that is written there. Of two first
// starts at the same time one gives the store its token, since the record must be new.
//
// At no moment does a kill leave a store whose token nobody knows: before a token's hash is put on record, the token
// stands in a file, the first one under its name, and a new one in a draft that the next start knows by its hash.
func adminToken(ctx context.Context, records ruqi.RecordStore, dir string, wish tokenWish) (hash [sha256.Size]byte, said string, err error) {
	path := filepath.Join(dir, tokenFile)
	hash, version, err := storedToken(ctx, records)
	switch {
	case wish == freshToken && (err == nil || version > 0 || errors.Is(err, ruqi.ErrNotFound)):
		if hash, err = replaceToken(ctx, records, dir, version); errors.Is(err, ruqi.ErrConflict) {
			return hash, "", errors.New("another start has just made a new admin token; start again to make yet another")
		}
		return hash, "new admin token made: it is in " + path + ", readable by you alone; the one before is refused from now on, by other running services of this store within seconds", err
	case err == nil:
		if err := settleDrafts(dir, hash); err != nil {
			return hash, "", err
		}
		return hash, existingToken(path, hash), nil
	case !errors.Is(err, ruqi.ErrNotFound):
		return hash, "", fmt.Errorf("read the admin token's record: %w; ruqi serve --new-token replaces the token", err)
	}
	// The file may be the only place of another store's token: it is used again and never written over.
	said = "the admin token is the one in " + path
	token, err := readToken(path)
	made := errors.Is(err, os.ErrNotExist)
	if made {
		if token, made, err = makeToken(dir); made {
			said = "admin token made: it is in " + path + ", readable by you alone"
		}
	}
	if err != nil {
		return hash, "", fmt.Errorf("the admin token: %w", err)
	}
	ours := hashToken(token)
	if err = keepHash(ctx, records, ours, version); err == nil {
		return ours, said, settleDrafts(dir, ours)
	}
	if !errors.Is(err, ruqi.ErrConflict) {
		return ours, "", err // the file stays: who knows what became of the record
	}
	if hash, _, err = storedToken(ctx, records); err != nil {
		return hash, "", err
	}
	if made && hash != ours {
		if err := os.Remove(path); err != nil {
			return hash, "", fmt.Errorf("remove the admin token that another start has made needless: %w", err)
		}
	}
	return hash, existingToken(path, hash), nil
}

// makeToken returns a new token that stands in its file, or the one that another start was faster to write there.
func makeToken(dir string) (token string, made bool, err error) {
	path := filepath.Join(dir, tokenFile)
	token = newToken()
	draft, err := writeDraft(dir, token)
	if err != nil {
		return "", false, err
	}
	// A link, since a rename would write over the other's.
	err = os.Link(draft, path)
	if kept := os.Remove(draft); err == nil && !errors.Is(kept, os.ErrNotExist) { // another start may have tidied up
		err = kept
	}
	if errors.Is(err, os.ErrExist) {
		token, err = readToken(path)
		return token, false, err
	}
	return token, err == nil, err
}

// replaceToken gives the store, whose record of it is at that version, a new token. The old one's file is
// written over when the new one is on record.
func replaceToken(ctx context.Context, records ruqi.RecordStore, dir string, version int64) (hash [sha256.Size]byte, err error) {
	token := newToken()
	hash = hashToken(token)
	draft, err := writeDraft(dir, token)
	if err != nil {
		return hash, fmt.Errorf("write the admin token: %w", err)
	}
	if err = keepHash(ctx, records, hash, version); err != nil {
		// Where nobody can say what became of the record, the draft stays for the next start.
		if now, _, unknown := storedToken(ctx, records); unknown == nil && now != hash || errors.Is(unknown, ruqi.ErrNotFound) {
			err = errors.Join(err, os.Remove(draft))
		}
		return hash, err
	}
	return hash, settleDrafts(dir, hash)
}

// settleDrafts gives the draft of the token its name, where a start was ended between the record and that, and
// removes further copies of it. Drafts of other tokens may be another start's.
func settleDrafts(dir string, hash [sha256.Size]byte) error {
	path := filepath.Join(dir, tokenFile)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look for drafts of the admin token: %w", err)
	}
	for _, entry := range entries {
		draft := filepath.Join(dir, entry.Name())
		if !strings.HasPrefix(entry.Name(), draftPrefix) {
			continue
		}
		if token, err := readToken(draft); err != nil || hashToken(token) != hash {
			continue
		}
		settle := func() error { return os.Rename(draft, path) }
		if token, err := readToken(path); err == nil && hashToken(token) == hash {
			settle = func() error { return os.Remove(draft) }
		}
		// Another start may have done it already.
		if err := settle(); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("the admin token is in %s and cannot be moved to its place: %w", draft, err)
		}
	}
	return nil
}

func newToken() string {
	random := make([]byte, tokenBytes)
	_, _ = rand.Read(random) // never fails: it ends the program instead
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(random)
}

func hashToken(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// keepHash puts a token's hash in the place of the record at that version; 0: there is none.
func keepHash(ctx context.Context, records ruqi.RecordStore, hash [sha256.Size]byte, version int64) error {
	data, err := json.Marshal(tokenRecord{SHA256: hex.EncodeToString(hash[:])})
	if err != nil {
		return err
	}
	if err := records.Put(ctx, ruqi.Record{Kind: tokenKind, Key: adminName, Version: version, Data: data}); err != nil {
		return fmt.Errorf("keep the admin token's hash: %w", err)
	}
	return nil
}

// readToken reads the file of a token. One that others can read or that is another's, or that holds no token of
// ours, is refused: who knows what stands in it.
func readToken(path string) (string, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular(): // opening a FIFO would wait for ever
		return "", fmt.Errorf("%s is no regular file: remove it to have a token made", path)
	case !ownedByUs(info):
		return "", fmt.Errorf("%s belongs to another user: remove it, or serve as that user", path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("%s can be read by others (mode %v): remove it, or chmod 600 it if nobody has seen it", path, info.Mode().Perm())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := string(bytes.TrimSpace(text))
	random, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, tokenPrefix))
	if err != nil || len(random) != tokenBytes || !strings.HasPrefix(token, tokenPrefix) {
		return "", fmt.Errorf("%s holds no token of this program: remove it to have one made", path)
	}
	return token, nil
}

// storedToken returns the hash that the store keeps and the version of its record, which a record that
// cannot be read has too.
func storedToken(ctx context.Context, records ruqi.RecordStore) (hash [sha256.Size]byte, version int64, err error) {
	record, err := records.Get(ctx, tokenKind, adminName)
	if err != nil {
		return hash, 0, err
	}
	var stored tokenRecord
	if err := json.Unmarshal(record.Data, &stored); err != nil {
		return hash, record.Version, fmt.Errorf("record of the admin token: %w", err)
	}
	sum, err := hex.DecodeString(stored.SHA256)
	if err != nil || len(sum) != len(hash) {
		return hash, record.Version, errors.New("record of the admin token holds no SHA-256")
	}
	return [sha256.Size]byte(sum), record.Version, nil
}

// adminTokens are those who may.
func adminTokens(hash [sha256.Size]byte) []httpapi.Token {
	return []httpapi.Token{{Name: adminName, Hash: hash}}
}

// tokenReader returns what reads those who may as the store has it now.
func tokenReader(records ruqi.RecordStore) func(context.Context) ([]httpapi.Token, error) {
	return func(ctx context.Context) ([]httpapi.Token, error) {
		hash, _, err := storedToken(ctx, records)
		return adminTokens(hash), err
	}
}

// existingToken says where the token of a store is that has one already, as far as that is known here.
func existingToken(path string, hash [sha256.Size]byte) string {
	const known = "the store has an admin token already, so none was made; "
	const remedy = "; if it is lost, start with --new-token to make a new one"
	token, err := readToken(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return known + "there is no " + path + remedy
	case err != nil:
		return known + err.Error() + remedy
	case hashToken(token) != hash:
		return known + path + " holds another one, which is not accepted" + remedy
	}
	return known + "it is in " + path
}

// writeDraft writes the token into a new file that only its owner can read.
func writeDraft(dir, token string) (name string, err error) {
	file, err := os.CreateTemp(dir, draftPrefix+"*") // made with mode 0600
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(token + "\n")
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}
