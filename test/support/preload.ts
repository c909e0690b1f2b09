/** Runs before every test file: the reflection polyfill that @peculiar/x509 needs. */
import "reflect-metadata";
