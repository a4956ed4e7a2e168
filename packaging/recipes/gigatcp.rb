# Homebrew builds it from source.
class Gigatcp < Formula
  desc "Test, diagnose, emulate and simulate TCP connections"
  homepage "ADDRESS"
  url "ADDRESS/download/vVERSION/gigatcp-VERSION.tar.gz"
  sha256 "SOURCE_SHA256"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", "--features", "mcp", *std_cargo_args(path: "face/cli")
    generate_completions_from_executable(bin/"gigatcp", "completions")
    system bin/"gigatcp", "man", "man"
    man1.install Dir["man/*.1"]
  end

  test do
    assert_match "net.ipv4.tcp_rmem", shell_output("#{bin}/gigatcp theory --rate 10G --rtt 80ms")
  end
end
