# For nixpkgs; `nix-build -E 'with import <nixpkgs> {}; callPackage ./gigatcp.nix {}'`.
{
  lib,
  rustPlatform,
  fetchurl,
  installShellFiles,
}:

rustPlatform.buildRustPackage rec {
  pname = "gigatcp";
  version = "VERSION";

  src = fetchurl {
    url = "ADDRESS/download/v${version}/gigatcp-${version}.tar.gz";
    sha256 = "SOURCE_SHA256";
  };

  # Next to this file.
  cargoLock.lockFile = ./Cargo.lock;
  cargoBuildFlags = [ "--package" "gigatcp" "--features" "mcp" ];
  # Tests make network namespaces.
  doCheck = false;

  nativeBuildInputs = [ installShellFiles ];
  postInstall = ''
    $out/bin/gigatcp man man
    installManPage man/*.1
    for shell in bash zsh fish; do
      installShellCompletion --cmd gigatcp --$shell <($out/bin/gigatcp completions $shell)
    done
  '';

  meta = {
    description = "Test, diagnose, emulate and simulate TCP connections";
    homepage = "ADDRESS";
    license = with lib.licenses; [ mit asl20 ];
    mainProgram = "gigatcp";
    platforms = lib.platforms.unix;
  };
}
