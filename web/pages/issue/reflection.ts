/** What @peculiar/x509 has to find when it is loaded: metadata of classes. */

import "reflect-metadata";
