CREATE TABLE `bulk_runs` (
	`number` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`ca_id` text NOT NULL,
	`reason` text NOT NULL,
	`digest` text NOT NULL,
	`filter` text NOT NULL,
	`batch_size` integer NOT NULL,
	`started_at` integer NOT NULL,
	`actor` text NOT NULL,
	`actor_name` text NOT NULL,
	`actor_roles` text NOT NULL,
	`ip` text NOT NULL,
	`request_id` text NOT NULL,
	`state` text NOT NULL,
	`owner` integer NOT NULL,
	`planned` integer NOT NULL,
	`revoked` integer NOT NULL,
	`upgraded` integer NOT NULL,
	`skipped` integer NOT NULL,
	`batches` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `bulk_runs_id` ON `bulk_runs` (`id`);--> statement-breakpoint
CREATE INDEX `bulk_runs_state` ON `bulk_runs` (`state`);--> statement-breakpoint
CREATE TABLE `bulk_serials` (
	`run` integer NOT NULL,
	`place` text NOT NULL,
	PRIMARY KEY(`run`, `place`)
);
