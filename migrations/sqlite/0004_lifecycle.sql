CREATE TABLE `cross_signs` (
	`id` text PRIMARY KEY NOT NULL,
	`issuer` text NOT NULL,
	`serial` text NOT NULL,
	`subject_ca` text,
	`subject_key_id` text NOT NULL,
	`source` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `cross_signs_serial` ON `cross_signs` (`issuer`,`serial`);--> statement-breakpoint
CREATE INDEX `cross_signs_paging` ON `cross_signs` (`issuer`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `cross_signs_subject` ON `cross_signs` (`subject_ca`,`created_at`,`id`);--> statement-breakpoint
ALTER TABLE `cas` ADD `csr` blob;--> statement-breakpoint
ALTER TABLE `cas` ADD `external_chain` text;--> statement-breakpoint
ALTER TABLE `cas` ADD `successor` text;--> statement-breakpoint
ALTER TABLE `cas` ADD `predecessor` text;--> statement-breakpoint
ALTER TABLE `cas` ADD `retire_after` integer;