# Builds the PKCS#11 addon of pkcs11js with one g++ line: no node-gyp, no headers from the network.
# Sourced by the commands in scripts/; needs $root. Gives 1, and says what is left out, when there is no compiler.

addon_of_pkcs11js=node_modules/pkcs11js/build/Release/pkcs11.node

build_addon() {
  cd "$root" || return 1
  if [ -s "$addon_of_pkcs11js" ] && [ "$addon_of_pkcs11js" -nt node_modules/pkcs11js/src/main.cpp ]; then return; fi
  need_packages g++ || return 1
  mkdir -p "$(dirname "$addon_of_pkcs11js")"
  # Same bytes on every machine with the same compiler: no build id, no path of this checkout.
  # Renamed at the end, so that an interrupted build leaves nothing that looks finished.
  g++ -O2 -fPIC -shared -std=c++17 -fvisibility=hidden -DNODE_GYP_MODULE_NAME=pkcs11 -DNAPI_DISABLE_CPP_EXCEPTIONS \
    -I node_modules/node-api-headers/include -I node_modules/pkcs11js/includes \
    -static-libstdc++ -static-libgcc -s -Wl,--build-id=none "-ffile-prefix-map=$root=." \
    node_modules/pkcs11js/src/dl.cpp node_modules/pkcs11js/src/common.cpp node_modules/pkcs11js/src/main.cpp \
    -o "$addon_of_pkcs11js.part" &&
    mv "$addon_of_pkcs11js.part" "$addon_of_pkcs11js" && return
  rm -f "$addon_of_pkcs11js.part"
  echo "note: the PKCS#11 addon did not compile: pkid is built WITHOUT PKCS#11; keys can only be sealed software keys." >&2
  return 1
}
