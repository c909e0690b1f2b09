-- Those of before are filled behind this statement (`engine/digest-fill.ts`): SQLite has no SHA-256.
ALTER TABLE `certificates` ADD `digest_head` integer;