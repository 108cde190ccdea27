package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// User is a user of the system whom commands run as.
type User struct {
	UID, GID uint32
	Groups   []uint32
	Name     string
	Home     string
}

// errNotRoot is why no other user can be chosen.
var errNotRoot = errors.New("only root can run commands as another user")

// LookupUser finds a user by name or number.
func LookupUser(name string) (*User, error) {
	if os.Geteuid() != 0 {
		return nil, errNotRoot
	}
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.LookupId(name); err != nil {
			return nil, fmt.Errorf("there is no user %q on this host", name)
		}
	}
	groups, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("the groups of user %s are not known: %w", u.Username, err)
	}
	ids := make([]uint32, 0, 2+len(groups))
	for _, text := range append([]string{u.Uid, u.Gid}, groups...) {
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user %s: %q is no id", u.Username, text)
		}
		ids = append(ids, uint32(id))
	}
	if ids[0] == 0 {
		return nil, fmt.Errorf("user %s is root", u.Username)
	}
	return &User{UID: ids[0], GID: ids[1], Groups: ids[2:], Name: u.Username, Home: u.HomeDir}, nil
}

// credential is what a process of the user is started with; nil for no user.
func (u *User) credential() *syscall.Credential {
	if u == nil {
		return nil
	}
	return &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
}

// environ returns an environment as one of the user.
func (u *User) environ(env []string) []string {
	if u == nil {
		return env
	}
	own := []string{"HOME=" + u.Home, "USER=" + u.Name, "LOGNAME=" + u.Name}
	for _, v := range env {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "HOME", "USER", "LOGNAME", "MAIL", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME":
		default:
			own = append(own, v)
		}
	}
	return own
}

// give makes the user the owner of files.
func (u *User) give(files []string) error {
	if u == nil {
		return nil
	}
	for _, path := range files {
		if err := os.Lchown(path, int(u.UID), int(u.GID)); err != nil {
			return err
		}
	}
	return nil
}
