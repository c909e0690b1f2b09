CREATE TABLE `acme_record_ends` (
	`account` text NOT NULL,
	`identifier` text NOT NULL,
	`number` integer NOT NULL,
	PRIMARY KEY(`account`, `identifier`)
);
