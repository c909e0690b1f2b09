ALTER TABLE `approval_decisions` DROP COLUMN `person`;--> statement-breakpoint
ALTER TABLE `approvals` DROP COLUMN `maker_person`;--> statement-breakpoint
ALTER TABLE `api_tokens` DROP COLUMN `person`;