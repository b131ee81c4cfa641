import fs from 'node:fs'

/**
 * The tests that `npm test` leaves to `npm run test:long`: kills at every point, faults, random input, large files, and installations. Other files
 * belong here if they take more than about three seconds on an idle machine. The main test of an area may take longer and stays in `npm test`.
 */
const PATTERNS = [
  'test/**/*-kills.test.ts',
  'test/other-orgs-ids.test.ts',
  'test/api/{ai-auto-map,ai-canaries,ai-credits,ai-formula,audit,backoffice,billing-checkout,billing-checkout-races}.test.ts',
  'test/api/{billing-checkout-settled,billing-ending,billing-plan-faults,billing-tax,billing-yearly-end,bundle,changes,chat}.test.ts',
  'test/api/{chat-canaries,chat-faults,column-values,connection,conversations,conversations-kept,cursors,customer-files}.test.ts',
  'test/api/{deactivated,embed-tokens,entitlements,envelope,erasure,external-run-chains,external-run-review,fuzz,health}.test.ts',
  'test/api/{invitation-races,invitations,libraries,libraries-unavailable,longest-turn,maintenance,mcp,mcp-attacks}.test.ts',
  'test/api/{member-roles,members,metrics,naughty-strings,oauth,oauth-attacks,oauth-clients,parsing,record-claims-elsewhere}.test.ts',
  'test/api/{record-claims-races,record-claims-refused,record-writes,record-writes-crm,reference,registry,results-parts}.test.ts',
  'test/api/{run-events,run-rows,sandbox,server,session-forgery,sign-in,sign-in-faults,source-encodings,source-reading}.test.ts',
  'test/api/{sources,staff-view,subform-rows,template-imports,template-saving,templates,uploaded-file,uploads,visibility}.test.ts',
  'test/api/{webhooks,widget}.test.ts',
  'test/clients/{cli-completion,cli-contracts,cli-import,cli-install,cli-interrupted,cli-mapping,cli-plans,cli-runs}.test.ts',
  'test/clients/{cli-setup,client-package,import-tests,import-tests-installed,widget-expressions,widget-send}.test.ts',
  'test/deploy/{action,release}.test.ts',
  'test/faults/{chaos,chaos-idempotency,chaos-probes,mutants,seeds-known,seeds-plain,undo-seed}.test.ts',
  'test/journeys/{fault-access,fault-table,schedules-clock,shared-grant,worker-killed}.test.ts',
  'test/security/{routes,s03-secrets,s04-slow-clients}.test.ts',
  'test/shared/assistant/{matcher-words,model,model-hostile}.test.ts',
  'test/shared/billing/{setup,setup-again,topup}.test.ts',
  'test/shared/billing/credits/ledger.test.ts',
  'test/shared/configuration/{diff,document}.test.ts',
  'test/shared/crm/{bulk-write,deletes}.test.ts',
  'test/shared/expressions/{bombs,faults,helpers,library,plain-javascript,runtime,sandbox,stopped}.test.ts',
  'test/shared/files/{encoding-decision,evidence,ingest,not-a-table,problems,unreadable,xlsx-refused}.test.ts',
  'test/shared/files/cleaning/clean.test.ts',
  'test/shared/mapping/flows/{dates,value}.test.ts',
  'test/shared/runs/results/{outcomes,results-csv}.test.ts',
  'test/shared/schedules/cron.test.ts',
  'test/shared/schedules/fetch/{mysql,query,sftp}.test.ts',
  'test/shared/storage/s3.test.ts',
  'test/shared/telemetry/tracing.test.ts',
  'test/simulators/{crm-bin,crm-control,crm-faults,crm-metadata,crm-oauth,crm-reads,crm-subforms,payment-money}.test.ts',
  'test/simulators/{payment-schemas,payment-subscriptions}.test.ts',
  'test/sql/ledger.test.ts',
  'test/stack/{postgres,start,up,with-postgres}.test.ts',
  'test/workers/{archive,archive-s3,before-images,billing-attacks,billing-crash,billing-dunning,billing-events}.test.ts',
  'test/workers/{billing-landing,billing-orders,billing-reconcile,budget,canary,checks-fit,checks-large,checks-predict-run}.test.ts',
  'test/workers/{closed-org,delete-flows,discovery,doctor,doctor-outcomes,doctor-writes,edit-marks,external-run-faults}.test.ts',
  'test/workers/{external-run-limit,external-run-sweep,external-run-unchanged,flow-routes,forecast,forecast-accuracy,guard}.test.ts',
  'test/workers/{import-bulk-ends,import-bulk-faults,import-bulk-values,import-cell-edits,import-chains}.test.ts',
  'test/workers/{import-claims-together,import-cleaning-killed,import-corrections,import-dry-runs,import-edits}.test.ts',
  'test/workers/{import-edits-links,import-empty-links,import-expressions,import-faults,import-generic,import-generic-edits}.test.ts',
  'test/workers/{import-held-records,import-idempotency,import-late,import-nested-held,import-nested-lost,import-no-effect}.test.ts',
  'test/workers/{import-order,import-parents,import-patches,import-pauses,import-plans,import-protocol,import-refusals}.test.ts',
  'test/workers/{import-restarts,import-rounding,import-sources,import-subforms-lost,import-takeovers,import-types}.test.ts',
  'test/workers/{import-unanswered-creates,import-unchanged,import-unchanged-files,import-unchanged-known,import-value-maps}.test.ts',
  'test/workers/{import-wide,import-wire,invitation-mail,match-snapshot,notices-chat,plan-approval,retention,retention-night}.test.ts',
  'test/workers/{retention-races,rows-limit,rows-packs,rows-refused,rows-unanswered,schedules,schedules-approval}.test.ts',
  'test/workers/{schedules-contracts,schedules-edits,schedules-encodings,schedules-verify,sealed-plan-links,sealed-plans,share-changes}.test.ts',
  'test/workers/{template-recheck,undo,undo-external,undo-fields,undo-retry,undo-subforms,uploads,verify,verify-planted}.test.ts',
  'test/workers/{watchdog,writes-paused}.test.ts',
]

/** Lists the test files of both commands. Every test file is in exactly one list. Throws for a pattern without a file. */
export const listTestFiles = (patterns: readonly string[] = PATTERNS): {short: string[]; long: string[]} => {
  const empty = patterns.find(pattern => fs.globSync(pattern).length === 0)
  if (empty) throw new Error(`No test file matches ${empty}. Correct test/stack/long-tests.ts`)
  const long = new Set(fs.globSync([...patterns]))
  return {short: fs.globSync('test/**/*.test.ts').filter(file => !long.has(file)), long: [...long]}
}
