CREATE TABLE `kek_versions` (
	`version` integer PRIMARY KEY NOT NULL,
	`status` text NOT NULL,
	`family` text NOT NULL,
	`key_provider` text NOT NULL,
	`key_label` text NOT NULL,
	`key_id` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `kek_versions_active` ON `kek_versions` (`status`) WHERE status = 'active';--> statement-breakpoint
CREATE TABLE `sealed_values` (
	`place` text PRIMARY KEY NOT NULL,
	`kek_version` integer NOT NULL,
	`envelope` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `sealed_values_version` ON `sealed_values` (`kek_version`,`place`);