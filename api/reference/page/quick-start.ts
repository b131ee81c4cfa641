import type {NoticeKind} from '../../../shared/notifications/kind.ts'
import {inText} from '../../html.ts'
import {curlOf} from './curl.ts'
import {copied, type LocatedOperation} from './operation.ts'
import {inLine} from './text.ts'

/** The operations of one import in the order of the calls, each with its purpose. */
const steps: [operationId: string, what: string][] = [
  ['listConnections', 'Find the connection to your CRM'],
  ['createImport', 'Create an import'],
  ['sendSource', 'Send a file. The answer has its columns and samples'],
  ['setImportFlows', 'Say which column goes into which field'],
  ['runImport', 'Start the run. With `dryRun: true` it writes nothing'],
  ['readImportRun', 'Read its state and its counts, until `state` is `ended`'],
]

/** Shows one import, call by call, with the examples of the operations. `addressOf` returns the address of an operation's section. */
export const showQuickStart = (
  placed: LocatedOperation[],
  {server, addressOf}: {server: string; addressOf(one: LocatedOperation): string},
): string => {
  const items = steps.map(([id, what]) => {
    const one = placed.find(({operation}) => operation.operationId === id)
    if (!one) throw new Error(`The quick start names ${id}, which is no operation`)
    return `<li><p>${inLine(what)}: <a href="${addressOf(one)}">${inText(one.operation.summary)}</a></p>${copied(curlOf(one, server), id)}</li>`
  })
  return `<h2 id="quick-start">Quick start</h2>
<p>${inLine('Create an API token in the settings of your organisation, and export it as `LADING_TOKEN`. Then import a file:')}</p>
<ol class="steps">${items.join('')}</ol>`
}

const events: Record<NoticeKind, string> = {
  'run.ended': 'A run or dry run has ended. `counts` has its rows by module and outcome',
  'run.undone': 'The undo of a run has ended. `undo` counts its rows',
  'run.held': 'The guard of a run holds it, until a person resumes or cancels it',
  'plan.waiting': 'The sealed plan of an import waits for the approval of another admin',
  'plan.approved': 'A sealed plan was approved',
  'template.approved': 'A version of a template was approved for schedules',
  'schedule.stopped': 'A schedule was stopped, and does not fire until it is enabled again',
  'schedule.skipped': 'A firing was skipped',
  'schedule.failed': 'A firing failed',
  'schedule.drifted': 'The file or the CRM no longer matches the template',
  'template.broken': 'The CRM has changed, and rows of the newest import of a template no longer fit',
  'webhook.disabled': 'An endpoint failed too often and was disabled',
  'usage.rows': '50, 80 or 100 % of the rows of the period are used',
  'usage.credits': '50, 80 or 100 % of the included AI credits are used',
  'billing.payment_failed': 'A payment for the plan failed',
  'billing.action_required': 'The bank requires a confirmation of a payment',
  'billing.trial_ending': 'The trial ends soon',
  'billing.topup_stopped': 'Automatic top-ups were stopped',
  'billing.refunded': 'A payment was refunded',
  'billing.disputed': 'A payment is disputed at the bank',
  'billing.plan_changed': 'The plan has changed',
}

const exampleEvent = {
  type: 'run.ended',
  timestamp: '2026-03-01T08:31:00.000Z',
  data: {
    org: 'org_01k9m0v6f8e2r4t7w3y5z1a2b4',
    run: 'run_01k9m0v6f8e2r4t7w3y5z1a2b5',
    import: 'imp_01k9m0v6f8e2r4t7w3y5z1a2b6',
    dryRun: false,
    state: 'done',
    stop: null,
    counts: {Accounts: {created: 310, updated: 84, refused: 2}},
  },
}

export const showEvents = (): string => {
  const rows = Object.entries(events).map(([kind, what]) => `<tr><td><code>${kind}</code></td><td>${inLine(what)}</td></tr>`)
  return `<h2 id="events">Webhook events</h2>
<p>${inLine('An endpoint receives `{type, timestamp, data}` by POST, signed as Standard Webhooks define it. `data` holds ids, codes, counts and links, and never rows.')}</p>
<div class="wide" tabindex="0" role="group" aria-label="Webhook events"><table><thead><tr><th scope="col">Type</th><th scope="col">When</th></tr></thead>
<tbody>${rows.join('')}</tbody></table></div>
<p class="media">Example</p>${copied(JSON.stringify(exampleEvent, null, 2), 'the example of an event')}`
}
