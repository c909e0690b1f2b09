CREATE TABLE `blocked_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`spki_sha256` text NOT NULL,
	`reason` text NOT NULL,
	`search` text NOT NULL,
	`source` text NOT NULL,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `blocked_keys_key` ON `blocked_keys` (`spki_sha256`);--> statement-breakpoint
CREATE INDEX `blocked_keys_paging` ON `blocked_keys` (`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `own_keys` (
	`spki_sha256` text PRIMARY KEY NOT NULL
);
