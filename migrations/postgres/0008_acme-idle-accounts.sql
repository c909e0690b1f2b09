ALTER TABLE "acme_accounts" ADD COLUMN "idle_since" bigint;--> statement-breakpoint
CREATE INDEX "acme_accounts_idle" ON "acme_accounts" USING btree ("idle_since","id") WHERE idle_since is not null;--> statement-breakpoint
CREATE INDEX "acme_authorizations_alone" ON "acme_authorizations" USING btree ("account") WHERE not ordered;