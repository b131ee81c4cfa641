import fs from 'node:fs'

/**
 * The test files that `npm test` leaves to `npm run test:long`: kills at every point, faults, random input, large files, installations, and
 * other long tests. `npm test` must end within about seven minutes on two cores, and contain at least one file of each area.
 */
const PATTERNS = [
  'test/**/*-kills.test.ts',
  'test/other-orgs-ids.test.ts',
  'test/api/{ai-auto-map,ai-canaries,ai-credits,ai-formula,ai-turns,audit,backoffice,billing-checkout,billing-checkout-duplicates}.test.ts',
  'test/api/{billing-checkout-races,billing-checkout-settled,billing-ending,billing-late,billing-plan,billing-plan-attacks,billing-plan-cards}.test.ts',
  'test/api/{billing-plan-confirm,billing-plan-faults,billing-portal,billing-preview,billing-promotion,billing-tax}.test.ts',
  'test/api/{billing-topup,billing-webhook,billing-yearly-end,bundle,changes,chat,chat-canaries,chat-faults,column-values}.test.ts',
  'test/api/{connection,conversations,conversations-kept,cursors,customer-files,data-centres,deactivated}.test.ts',
  'test/api/{embed-tokens,entitlements,envelope,erasure,fields,fuzz}.test.ts',
  'test/api/{health,import-settings,invitation-races,invitations,libraries,libraries-unavailable,longest-turn,maintenance}.test.ts',
  'test/api/{mcp,mcp-attacks,member-roles,members,metrics,modules,naughty-strings,oauth,oauth-attacks,oauth-clients,parsing}.test.ts',
  'test/api/{reference,registry,run-events,run-results,run-results-parts,run-rows,sandbox,server,session-cookie,session-forgery,sessions}.test.ts',
  'test/api/{sign-in,sign-in-faults,source-encodings,source-reading,sources,staff,staff-view,template-imports}.test.ts',
  'test/api/{template-saving,templates,uploaded-file,uploads,visibility,webhooks,widget}.test.ts',
  'test/clients/{cli-completion,cli-data-contracts,cli-corrected,cli-import,cli-install,cli-interrupted,cli-login,cli-mapping}.test.ts',
  'test/clients/{cli-plans,cli-runs,cli-setup,client-package,import-tests,import-tests-installed,widget-awaited-change}.test.ts',
  'test/clients/{program-copy,widget-expressions,widget-send}.test.ts',
  'test/deploy/{action,image,release}.test.ts',
  'test/faults/{chaos,chaos-idempotency,chaos-probes,mutants,seeds-known,seeds-plain,undo-seed}.test.ts',
  'test/journeys/{fault-access,fault-table,plan-changes,schedules-clock,secrets-at-rest,shared-grant,worker-killed}.test.ts',
  'test/security/{routes,s03-secrets,s04-slow-clients,s13-sealed,s16-races}.test.ts',
  'test/shared/assistant/{matcher-words,model,model-hostile}.test.ts',
  'test/shared/billing/{money-storm,overage,overage-late,price-changes,setup,setup-again,topup,topup-attacks,topup-faults,topup-invoice}.test.ts',
  'test/shared/billing/credits/ledger.test.ts',
  'test/shared/configuration/{diff,document}.test.ts',
  'test/shared/crm/{bulk-write,deletes}.test.ts',
  'test/shared/expressions/{bombs,faults,helpers,library,plain-javascript,runtime,sandbox,stopped}.test.ts',
  'test/shared/files/{encoding-decision,evidence,failing-removals,ingest,not-a-table,problems,unreadable,xlsx,xlsx-refused}.test.ts',
  'test/shared/files/cleaning/clean.test.ts',
  'test/shared/mapping/flows/{dates,value}.test.ts',
  'test/shared/runs/results/{outcomes,results-csv}.test.ts',
  'test/shared/schedules/cron.test.ts',
  'test/shared/schedules/fetch/{mysql,query,sftp}.test.ts',
  'test/shared/storage/s3.test.ts',
  'test/shared/telemetry/tracing.test.ts',
  'test/simulators/{crm-bin,crm-control,crm-coql,crm-faults,crm-limits,crm-metadata,crm-oauth,crm-reads,crm-search}.test.ts',
  'test/simulators/{crm-subforms,crm-unique,crm-writes,payment-checkout,payment-events,payment-money,payment-schemas}.test.ts',
  'test/simulators/{payment-subscriptions,payment-wire}.test.ts',
  'test/sql/ledger.test.ts',
  'test/stack/{postgres,start,up,with-postgres}.test.ts',
  'test/workers/{archive,archive-s3,before-images,billing-attacks,billing-crash,billing-dunning,billing-events}.test.ts',
  'test/workers/{billing-landing,billing-orders,billing-reconcile,budget,canary,checks-fit,checks-large,checks-predict-run}.test.ts',
  'test/workers/{closed-org,delete-flows,discovery,discovery-refresh,doctor,doctor-outcomes,doctor-writes,dry-run-stale}.test.ts',
  'test/workers/{edit-marks,external-run-chains,external-run-faults,external-run-limit,external-run-review,external-run-sweep}.test.ts',
  'test/workers/{external-run-unchanged,external-runs,flow-routes}.test.ts',
  'test/workers/{forecasts,forecast-accuracy,forecast-blocks,forecast-dry-runs,guard,import-bulk-ends,import-bulk-faults,import-bulk-values}.test.ts',
  'test/workers/import-bulk-searches.test.ts',
  'test/workers/{import-cell-edits,import-chains,import-claims-together,import-cleaning-killed,corrections,corrections-rows,import-dry-runs}.test.ts',
  'test/workers/import-edits.test.ts',
  'test/workers/{import-edits-links,import-empty-links,import-ends,import-expressions,import-faults}.test.ts',
  'test/workers/{import-generic,import-generic-edits,import-generic-rate-limit}.test.ts',
  'test/workers/{import-held-records,import-idempotency,import-late,import-limit-lost,import-lookups,import-nested}.test.ts',
  'test/workers/{import-nested-held,import-nested-lost,import-no-effect,import-options,import-order,import-parents}.test.ts',
  'test/workers/{import-patches,import-pauses,import-plans,import-protocol,questions,import-refusals,import-restarts}.test.ts',
  'test/workers/{import-rounding,import-sources,import-subforms-lost,import-takeovers,import-types,import-unanswered-creates}.test.ts',
  'test/workers/{import-unchanged,import-unchanged-files,import-unchanged-known,import-value-maps,import-wide,import-wire}.test.ts',
  'test/workers/{crm-quota,import-lookup-numbers,import-patch-conditions,subform-rows,webhooks}.test.ts',
  'test/workers/{invitation-mail,match-snapshot,match-snapshot-booleans,match-snapshot-owners,notices,notices-chat,plan-approval}.test.ts',
  'test/workers/{record-claims-elsewhere,record-claims-races,record-claims-refused,record-writes,record-writes-crm}.test.ts',
  'test/workers/{retention,retention-night,retention-races,schedules,template-approvals,data-contracts}.test.ts',
  'test/workers/{schedules-deletes,schedules-edits,schedules-encodings,schedules-files,schedules-kept-imports,schedules-repeats}.test.ts',
  'test/workers/{subform-rows-limit,subform-rows-packs,subform-rows-refused,subform-rows-unanswered}.test.ts',
  'test/workers/{schedules-verify,sealed-plan-links,sealed-plans,share-changes,template-rechecks}.test.ts',
  'test/workers/{delete-retries,import-changed-fields,undo,undo-external,undo-external-records,undo-external-unread,undo-fields,undo-refused,undo-renamed,undo-retry,undo-strict}.test.ts',
  'test/workers/{undo-subforms,uploads,verify,verify-planted,watchdog,writes-paused}.test.ts',
]

/** Lists the test files of both commands. Every test file is in exactly one list. Throws for a pattern or name that matches no file. */
export const listTestFiles = (patterns: readonly string[] = PATTERNS): {short: string[]; long: string[]} => {
  const empty = patterns.flatMap(expandBraces).find(pattern => fs.globSync(pattern).length === 0)
  if (empty) throw new Error(`No test file matches ${empty}. Correct test/stack/long-tests.ts`)
  const long = new Set(fs.globSync([...patterns]))
  return {short: fs.globSync('test/**/*.test.ts').filter(file => !long.has(file)), long: [...long]}
}

/** Expands the names in the braces of a pattern, so that a renamed file is noticed. */
const expandBraces = (pattern: string): string[] => {
  const [, head, names, tail] = /^(.*)\{(.*)\}(.*)$/.exec(pattern) ?? []
  return names === undefined ? [pattern] : names.split(',').map(name => `${head}${name}${tail}`)
}
