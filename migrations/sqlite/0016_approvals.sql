CREATE TABLE `approval_decisions` (
	`id` text PRIMARY KEY NOT NULL,
	`approval` text NOT NULL,
	`approver` text NOT NULL,
	`approver_name` text NOT NULL,
	`person` text NOT NULL,
	`decision` text NOT NULL,
	`comment` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `approval_decisions_person` ON `approval_decisions` (`approval`,`person`);--> statement-breakpoint
CREATE TABLE `approval_effects` (
	`approval` text PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE `approvals` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant` text,
	`operation_class` text NOT NULL,
	`operation` text NOT NULL,
	`resource_key` text NOT NULL,
	`resource_name` text NOT NULL,
	`fingerprint` text NOT NULL,
	`summary` text NOT NULL,
	`details` text NOT NULL,
	`input` text NOT NULL,
	`maker` text NOT NULL,
	`maker_person` text NOT NULL,
	`maker_subject` text NOT NULL,
	`maker_address` text NOT NULL,
	`ip` text NOT NULL,
	`request_id` text NOT NULL,
	`required` integer NOT NULL,
	`status` text NOT NULL,
	`attempts` integer NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`decided_at` integer,
	`executed_at` integer,
	`collected_at` integer,
	`failure` text,
	`effect` text,
	`answer` text,
	`secret` text NOT NULL,
	`owner` integer NOT NULL,
	`open_key` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `approvals_open` ON `approvals` (`open_key`);--> statement-breakpoint
CREATE INDEX `approvals_paging` ON `approvals` (`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `approvals_fingerprint` ON `approvals` (`fingerprint`);--> statement-breakpoint
CREATE INDEX `approvals_status` ON `approvals` (`status`,`expires_at`);--> statement-breakpoint
ALTER TABLE `bulk_runs` ADD `approval` text DEFAULT '' NOT NULL;