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
)

const (
	tokenFile   = "admin-token" // in the data directory
	tokenKind   = "token"       // of the record; its key is the token's name
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
func adminToken(ctx context.Context, records ruqi.RecordStore, dir string, wish tokenWish) (hash [sha256.Size]byte, said string, err error) {
	path := filepath.Join(dir, tokenFile)
	hash, version, err := storedToken(ctx, records)
	switch {
	case wish == freshToken && (err == nil || version > 0 || errors.Is(err, ruqi.ErrNotFound)):
		if hash, err = makeToken(ctx, records, dir, version); errors.Is(err, ruqi.ErrConflict) {
			return hash, "", errors.New("another start has just made a new admin token; start again to make yet another")
		}
		return hash, "new admin token made: it is in " + path + ", readable by you alone; the one before is no longer accepted", err
	case err == nil:
		return hash, existingToken(path, hash), nil
	case !errors.Is(err, ruqi.ErrNotFound):
		return hash, "", fmt.Errorf("read the admin token's record: %w; ruqi serve --new-token replaces the token", err)
	}
	// The file may be the only place of another store's token: it is used again and never written over.
	token, err := readToken(path)
	switch {
	case err == nil:
		hash, err = keepHash(ctx, records, token, version)
		said = "the admin token is the one in " + path
	case errors.Is(err, os.ErrNotExist):
		hash, err = makeToken(ctx, records, dir, version)
		said = "admin token made: it is in " + path + ", readable by you alone"
	default:
		return hash, "", fmt.Errorf("read the admin token: %w", err)
	}
	if errors.Is(err, ruqi.ErrConflict) {
		hash, _, err = storedToken(ctx, records)
		said = existingToken(path, hash)
	}
	return hash, said, err
}

// makeToken gives the store, whose record of it is at that version, a new token and writes it to its file. The file is written
// before the record, and takes its name after it: a full disk leaves a store with the token it had, and not one
// with a token that nobody knows.
func makeToken(ctx context.Context, records ruqi.RecordStore, dir string, version int64) (hash [sha256.Size]byte, err error) {
	random := make([]byte, tokenBytes)
	_, _ = rand.Read(random) // never fails: it ends the program instead
	token := tokenPrefix + base64.RawURLEncoding.EncodeToString(random)
	draft, err := writeDraft(dir, token)
	if err != nil {
		return hash, fmt.Errorf("write the admin token: %w", err)
	}
	defer func() { _ = os.Remove(draft) }() // gone already when it got its name
	if hash, err = keepHash(ctx, records, token, version); err != nil {
		return hash, err
	}
	if err := os.Rename(draft, filepath.Join(dir, tokenFile)); err != nil {
		return hash, fmt.Errorf("write the admin token: %w", err)
	}
	return hash, nil
}

// keepHash puts the hash of a token in the place of the record at that version; 0: there is none.
func keepHash(ctx context.Context, records ruqi.RecordStore, token string, version int64) (hash [sha256.Size]byte, err error) {
	hash = sha256.Sum256([]byte(token))
	data, err := json.Marshal(tokenRecord{SHA256: hex.EncodeToString(hash[:])})
	if err != nil {
		return hash, err
	}
	if err := records.Put(ctx, ruqi.Record{Kind: tokenKind, Key: adminName, Version: version, Data: data}); err != nil {
		return hash, fmt.Errorf("keep the admin token's hash: %w", err)
	}
	return hash, nil
}

// readToken reads the file of a token. One that others can read, or that holds no token of ours, is
// refused: who knows what stands in it.
func readToken(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
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

// existingToken says where the token of a store is that has one already, as far as that is known here.
func existingToken(path string, hash [sha256.Size]byte) string {
	const remedy = "; if it is lost, start with --new-token to make a new one"
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "the store has an admin token already, so none was made; there is no " + path + remedy
	case err != nil:
		return "the store has an admin token already, so none was made; " + path + " cannot be read" + remedy
	case sha256.Sum256(bytes.TrimSpace(text)) != hash:
		return "the store has an admin token already, so none was made; " + path + " holds another one, which is not accepted" + remedy
	}
	return "the store has an admin token already, so none was made; it is in " + path
}

// writeDraft writes the token into a new file that only its owner can read.
func writeDraft(dir, token string) (name string, err error) {
	file, err := os.CreateTemp(dir, tokenFile+"-*") // made with mode 0600
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
