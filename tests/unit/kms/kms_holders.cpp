// SPDX-License-Identifier: LGPL-2.1-or-later
// Who has a display, as trees like those of /proc, debugfs and logind tell.
#include "gst/kms/engine/card/kms_holders.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <gst/drm/core/unique_fd.hpp>

#include "gst/kms/engine/card/kms_compositor.hpp"
#include "gst/kms/engine/card/kms_holders.hpp"

namespace {

namespace fs = std::filesystem;
using namespace gstdrm::kms;

class HoldersTest : public testing::Test {
protected:
  HoldersTest()
  {
    char name[] = "/tmp/kms-holders-XXXXXX";
    root = mkdtemp(name);
    paths = {root / "proc", root / "debug", root / "sessions"};
    struct stat status {};
    EXPECT_EQ(stat("/dev/null", &status), 0); // stands for the card
    node = status.st_rdev;
  }
  ~HoldersTest() override { fs::remove_all(root); }

  static void write(const fs::path &path, const std::string &text)
  {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void add_process(const std::string &id, const std::string &name, const std::string &opened)
  {
    const fs::path folder = fs::path(paths.proc) / id;
    write(folder / "comm", name + "\n");
    fs::create_directories(folder / "fd");
    fs::create_symlink("/dev/zero", folder / "fd" / "0");
    fs::create_symlink(opened, folder / "fd" / "7");
  }
  std::string text() const { return describe_holders(find_holders(node, paths)); }

  fs::path root;
  SystemPaths paths;
  dev_t node = 0;
};

TEST_F(HoldersTest, says_that_it_sees_nobody)
{
  Holders nobody;
  EXPECT_EQ(describe_holders(nobody).rfind("Only root can see which program", 0), 0U);
  nobody.all_seen = true;
  EXPECT_EQ(describe_holders(nobody).rfind("No other process has it open", 0), 0U);
  EXPECT_EQ(text().find("session"), std::string::npos);
  for (const char *word : {"compositor", "virtual terminal", "fd", "DRM lease"})
    EXPECT_NE(text().find(word), std::string::npos) << word;
}

TEST_F(HoldersTest, names_who_has_the_card_open)
{
  add_process("12", "bash", "/dev/zero");
  add_process("34", "weston", "/dev/null");
  add_process(std::to_string(getpid()), "this test", "/dev/null");
  write(fs::path(paths.proc) / "self" / "comm", "no process");
  EXPECT_EQ(text().rfind("It is probably weston (process 34). Stop", 0), 0U) << text();
  add_process("56", "plymouthd", "/dev/null");
  EXPECT_EQ(
      text().rfind(
          "It is one of these, which have it open: weston (process 34), plymouthd (process 56). ",
          0),
      0U)
      << text();
  for (const char *id : {"60", "61", "62", "63"})
    add_process(id, "more", "/dev/null");
  EXPECT_NE(text().find("(process 61) and 2 more. "), std::string::npos) << text();
}

TEST_F(HoldersTest, names_the_master_where_the_kernel_tells)
{
  add_process("34", "weston", "/dev/null");
  add_process("56", "Xorg of mine", "/dev/null");
  write(fs::path(paths.debug) / std::to_string(minor(node)) / "clients",
        "             command  tgid dev master a   uid      magic\n"
        "              weston    34   0   n    y     0          0\n"
        "        Xorg of mine    56   0   y    y     0          1\n");
  EXPECT_EQ(text().rfind("It is Xorg of mine (process 56). ", 0), 0U) << text();
  // a process that /proc does not show
  write(fs::path(paths.debug) / std::to_string(minor(node)) / "clients",
        "heading\n  kwin_wayland    77   0   y    y     0          1\nnonsense\n\n1 2\n");
  EXPECT_EQ(text().rfind("It is kwin_wayland (process 77). ", 0), 0U) << text();
}

struct SessionRow {
  const char *name;
  const char *file;
  const char *word; // null: no session is named
};

const SessionRow kSessionRows[] = {
    {"wayland", "UID=1000\nSEAT=seat0\nACTIVE=1\nTYPE=wayland\nCLASS=user\n", "waylandsink"},
    {"x11", "SEAT=seat0\nACTIVE=1\nTYPE=x11\n", "xvimagesink"},
    {"not on the screen", "SEAT=seat0\nACTIVE=0\nTYPE=wayland\n", nullptr},
    {"over the network", "ACTIVE=1\nTYPE=x11\n", nullptr},
    {"a console", "SEAT=seat0\nACTIVE=1\nTYPE=tty\n", nullptr},
    {"no file of logind's", "\n==\n\x01\x02", nullptr},
};

TEST_F(HoldersTest, offers_what_the_session_has)
{
  for (const SessionRow &row : kSessionRows) {
    write(fs::path(paths.sessions) / "2", row.file);
    EXPECT_EQ(text().find("session is on the screen") != std::string::npos, row.word != nullptr)
        << row.name;
    if (row.word) {
      EXPECT_NE(text().find(row.word), std::string::npos) << row.name << ": " << text();
    }
  }
}

// stat() of a descriptor on a dead network server never returns.
TEST_F(HoldersTest, asks_no_other_file_system)
{
  add_process("34", "weston", "/dev/null");
  const fs::path elsewhere = root / "mnt" / "card"; // the same device, by a link that has to be followed
  fs::create_directories(elsewhere.parent_path());
  fs::create_symlink("/dev/null", elsewhere);
  add_process("56", "on-the-network", elsewhere.string());
  EXPECT_EQ(text().find("on-the-network"), std::string::npos) << text();
  EXPECT_NE(text().find("weston"), std::string::npos) << text();
}

struct CompositorRow {
  const char *name;
  const char *wayland, *x; // with @ for the test's folder
  const char *found;       // the end of the answer; null: none
};

const CompositorRow kCompositorRows[] = {
    {"nothing is set, and the default socket is there", "", "",
     "Wayland compositor at @/wayland-0"},
    {"by name", "wayland-0", "", "Wayland compositor at @/wayland-0"},
    {"by path", "@/wayland-0", "", "Wayland compositor at @/wayland-0"},
    {"Wayland before X", "", ":7", "Wayland compositor at @/wayland-0"},
    {"another one", "wayland-1", "", nullptr},
    {"X", "wayland-1", ":7", "X server at @/X7"},
    {"X and a screen", "wayland-1", ":7.1", "X server at @/X7"},
    {"X by its transport", "wayland-1", "unix:7", "X server at @/X7"},
    {"X of another machine", "wayland-1", "localhost:7.0", nullptr},
    {"a server that was killed", "wayland-1", ":8", nullptr},
    {"no server", "wayland-1", ":9", nullptr},
    {"no number", "wayland-1", ":", nullptr},
    {"a path", "wayland-1", ":../X7", nullptr},
    {"no display", "wayland-1", "seven", nullptr},
};

int listen_at(const fs::path &path, bool alive)
{
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.string().copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr *>(&address), sizeof(address)), 0);
  EXPECT_EQ(alive ? listen(fd, 64) : 0, 0);
  return fd;
}

TEST_F(HoldersTest, finds_a_compositor_that_answers)
{
  const gstdrm::UniqueFd wayland(listen_at(root / "wayland-0", true)),
      x(listen_at(root / "X7", true)), killed(listen_at(root / "X8", false));
  const auto in_folder = [this](std::string text) {
    if (const std::size_t at = text.find('@'); at != std::string::npos)
      text.replace(at, 1, root.string());
    return text;
  };
  for (const CompositorRow &row : kCompositorRows) {
    const std::string found = find_compositor({in_folder(row.wayland), root, row.x, root});
    EXPECT_EQ(found, row.found ? "the " + in_folder(row.found) : "") << row.name;
  }
  EXPECT_EQ(find_compositor({"", "", "", root}), "");
}

} // namespace
