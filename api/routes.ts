import type {Route} from './route.ts'
import ai from './routes/ai.ts'
import audit from './routes/audit.ts'
import billingCheckout from './routes/billing-checkout.ts'
import billingPlan from './routes/billing-plan.ts'
import billingSummary from './routes/billing-summary.ts'
import billingTopup from './routes/billing-topup.ts'
import billingWebhook from './routes/billing-webhook.ts'
import bulkCallbacks from './routes/bulk-callbacks.ts'
import changes from './routes/changes.ts'
import checks from './routes/checks.ts'
import cliLogin from './routes/cli-login.ts'
import columnValues from './routes/column-values.ts'
import connection from './routes/connection.ts'
import connectors from './routes/connectors.ts'
import conversations from './routes/conversations.ts'
import corrections from './routes/corrections.ts'
import credits from './routes/crm-quota.ts'
import dataContracts from './routes/data-contracts.ts'
import discovery from './routes/discovery.ts'
import doctor from './routes/doctor.ts'
import embedTokens from './routes/embed-tokens.ts'
import entitlements from './routes/entitlements.ts'
import expressions from './routes/expressions.ts'
import outsideRuns from './routes/external-runs.ts'
import fields from './routes/fields.ts'
import forecasts from './routes/forecasts.ts'
import grants from './routes/grants.ts'
import health from './routes/health.ts'
import imports from './routes/imports.ts'
import invitations from './routes/invitations.ts'
import jobs from './routes/jobs.ts'
import libraries from './routes/libraries.ts'
import mcp from './routes/mcp.ts'
import members from './routes/members.ts'
import metrics from './routes/metrics.ts'
import modules from './routes/modules.ts'
import notices from './routes/notices.ts'
import oauth from './routes/oauth.ts'
import orgRuns from './routes/org-runs.ts'
import orgs from './routes/orgs.ts'
import ownOrgs from './routes/own-orgs.ts'
import questions from './routes/questions.ts'
import takes from './routes/record-claims.ts'
import recordWrites from './routes/record-writes.ts'
import records from './routes/records.ts'
import {describeRoutes} from './routes/reference.ts'
import registry from './routes/registry.ts'
import runEvents from './routes/run-events.ts'
import runHistory from './routes/run-history.ts'
import runRecords from './routes/run-records.ts'
import runResults from './routes/run-results.ts'
import runRows from './routes/run-rows.ts'
import runs from './routes/runs.ts'
import schedules from './routes/schedules.ts'
import sealedPlans from './routes/sealed-plans.ts'
import settings from './routes/settings.ts'
import signIn from './routes/sign-in.ts'
import sources from './routes/sources.ts'
import staff from './routes/staff.ts'
import staffOrgs from './routes/staff-orgs.ts'
import staffPeople from './routes/staff-people.ts'
import staffPlans from './routes/staff-plans.ts'
import rows from './routes/subform-rows.ts'
import templateApprovals from './routes/template-approvals.ts'
import templates from './routes/templates.ts'
import scheduleTests from './routes/test-fetches.ts'
import tokens from './routes/tokens.ts'
import undo from './routes/undo.ts'
import uploads from './routes/uploads.ts'
import runVerify from './routes/verify.ts'
import webhooks from './routes/webhooks.ts'
import widget from './routes/widget.ts'
import writes from './routes/writes.ts'

/** All routes. Their order is irrelevant: the app sorts literal paths first. */
export const routes: Route[] = [
  ...health,
  ...describeRoutes(() => routes),
  ...metrics,
  ...signIn,
  ...cliLogin,
  ...connection,
  ...orgs,
  ...ownOrgs,
  ...members,
  ...invitations,
  ...tokens,
  ...embedTokens,
  ...oauth,
  ...grants,
  ...mcp,
  ...jobs,
  ...connectors,
  ...credits,
  ...records,
  ...questions,
  ...recordWrites,
  ...writes,
  ...rows,
  ...takes,
  ...templates,
  ...templateApprovals,
  ...dataContracts,
  ...discovery,
  ...doctor,
  ...libraries,
  ...registry,
  ...modules,
  ...fields,
  ...expressions,
  ...schedules,
  ...scheduleTests,
  ...settings,
  ...changes,
  ...audit,
  ...notices,
  ...webhooks,
  ...imports,
  ...sources,
  ...columnValues,
  ...uploads,
  ...checks,
  ...forecasts,
  ...entitlements,
  ...runs,
  ...sealedPlans,
  ...undo,
  ...runRows,
  ...runHistory,
  ...runRecords,
  ...runResults,
  ...runVerify,
  ...corrections,
  ...runEvents,
  ...orgRuns,
  ...outsideRuns,
  ...staff,
  ...staffPeople,
  ...staffOrgs,
  ...staffPlans,
  ...billingCheckout,
  ...billingPlan,
  ...billingSummary,
  ...billingTopup,
  ...billingWebhook,
  ...bulkCallbacks,
  ...ai,
  ...conversations,
  ...widget,
]
