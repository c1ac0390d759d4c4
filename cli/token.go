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

// adminToken returns the hash of the store's admin token, and what there is to say of it. A store
// that has none takes the one in the data directory, or a new one that is written there. Of two first
// starts at the same time one gives the store its token, since the record must be new.
func adminToken(ctx context.Context, records ruqi.RecordStore, dir string) (hash [sha256.Size]byte, said string, err error) {
	path := filepath.Join(dir, tokenFile)
	hash, err = storedToken(ctx, records)
	switch {
	case err == nil:
		return hash, existingToken(path, hash), nil
	case !errors.Is(err, ruqi.ErrNotFound):
		return hash, "", fmt.Errorf("read the admin token's record: %w", err)
	}
	// The file may be the only place of another store's token: it is used again and never written over.
	token, err := readToken(path)
	draft := ""
	switch {
	case errors.Is(err, os.ErrNotExist):
		random := make([]byte, tokenBytes)
		_, _ = rand.Read(random) // never fails: it ends the program instead
		token = tokenPrefix + base64.RawURLEncoding.EncodeToString(random)
		// The file is written before the record, and takes its name after it: a full disk leaves a store
		// without a token, and not one with a token that nobody knows.
		if draft, err = writeDraft(dir, token); err != nil {
			return hash, "", fmt.Errorf("write the admin token: %w", err)
		}
		defer func() { _ = os.Remove(draft) }() // gone already when it got its name
	case err != nil:
		return hash, "", fmt.Errorf("read the admin token: %w", err)
	}
	hash = sha256.Sum256([]byte(token))
	data, err := json.Marshal(tokenRecord{SHA256: hex.EncodeToString(hash[:])})
	if err != nil {
		return hash, "", err
	}
	err = records.Put(ctx, ruqi.Record{Kind: tokenKind, Key: adminName, Data: data})
	switch {
	case errors.Is(err, ruqi.ErrConflict):
		hash, err = storedToken(ctx, records)
		return hash, existingToken(path, hash), err
	case err != nil:
		return hash, "", fmt.Errorf("keep the admin token's hash: %w", err)
	case draft == "":
		return hash, "the admin token is the one in " + path, nil
	}
	if err := os.Rename(draft, path); err != nil {
		return hash, "", fmt.Errorf("write the admin token: %w", err)
	}
	return hash, "admin token made: it is in " + path + ", readable by you alone", nil
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

func storedToken(ctx context.Context, records ruqi.RecordStore) (hash [sha256.Size]byte, err error) {
	record, err := records.Get(ctx, tokenKind, adminName)
	if err != nil {
		return hash, err
	}
	var stored tokenRecord
	if err := json.Unmarshal(record.Data, &stored); err != nil {
		return hash, fmt.Errorf("record of the admin token: %w", err)
	}
	sum, err := hex.DecodeString(stored.SHA256)
	if err != nil || len(sum) != len(hash) {
		return hash, errors.New("record of the admin token holds no SHA-256")
	}
	return [sha256.Size]byte(sum), nil
}

// existingToken says where the token of a store is that has one already.
func existingToken(path string, hash [sha256.Size]byte) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "the store has an admin token already, so none was made; it is not in " + path + " but where the first start on this store put it"
	}
	if sha256.Sum256(bytes.TrimSpace(text)) != hash {
		return "the store has an admin token already, so none was made; " + path + " holds another one, which is not accepted"
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
