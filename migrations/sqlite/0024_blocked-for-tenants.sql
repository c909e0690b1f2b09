DROP INDEX `blocked_keys_key`;--> statement-breakpoint
ALTER TABLE `blocked_keys` ADD `tenant` text DEFAULT '' NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `blocked_keys_key` ON `blocked_keys` (`spki_sha256`,`tenant`);