CREATE TABLE `certificate_archive` (
	`ca_id` text NOT NULL,
	`serial` text NOT NULL,
	`archived_at` integer NOT NULL,
	`certificate` blob NOT NULL,
	PRIMARY KEY(`ca_id`, `serial`)
);
