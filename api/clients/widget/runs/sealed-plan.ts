import {useState} from 'preact/hooks'
import {deletesRecords} from '../../run-state.ts'
import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {client, inOrg, may, me} from '../state/session.ts'
import {t} from '../text/sealing.ts'
import {Button} from '../ui/button.ts'
import {Closed} from '../ui/closed.ts'
import {at} from '../ui/format.ts'
import {Problem, say} from '../ui/notice.ts'
import {ConfirmDeletes} from './delete-form.ts'
import type {Run} from './run.ts'
import {StartProblem} from './start-problem.ts'
import {startRun} from './start-run.ts'

type Person = {id: string; name: string} | null
type Plan = {
  digest: string
  rows: number
  state: 'unsealed' | 'sealed' | 'changed' | 'expired'
  sealedAt: string | null
  sealedBy: Person
  expiresAt: string | null
  needsApproval: boolean
  /** Whether the person sealed the plan or started its dry run, and may not approve it. */
  isAuthor: boolean
  approvedAt: string | null
  approvedBy: Person
}
type Props = {importId: string; run: Run; onStarted: (run: string) => void}

/** Shows the plan of an ended dry run, with buttons to seal, approve and apply it. Renders nothing if the dry run has no complete plan. */
export const SealedPlan = ({importId, run, onStarted}: Props) => {
  const path = `/imports/${importId}/runs/${run.id}`
  const [isAsking, setAsking] = useState(false)
  const loaded = useLoad(async signal => (await client.get<{plan: Plan | null}>(inOrg(`${path}/seal`), {}, signal)).plan, [path])
  const seal = useDoing(async () => {
    await client.post(inOrg(`${path}/seal`))
    await loaded.again()
  })
  const approve = useDoing(async () => {
    await client.post(inOrg(`${path}/approve`), {digest: loaded.data?.digest})
    say(t.planApproved)
    await loaded.again()
  })
  const toApply = {planOf: run.id, ...(run.retryOf && {retryOf: run.retryOf})}
  const apply = useDoing(async () => onStarted(await startRun(importId, toApply)))
  const plan = loaded.data
  if (!plan) return html`<${Problem} error=${loaded.error} again=${loaded.again} />`
  const {isAuthor} = plan
  const whyAnother = plan.sealedBy?.id === me.value?.user.id ? t.anotherAdminApproves : t.anotherAdminApprovesYourDryRun
  const deletes = deletesRecords(run) ? (run.deleted ?? 0) : null
  const mayApply = deletes === null ? may('operator') : deletes > 0 && may('builder')
  const isOpen = plan.state === 'sealed' && plan.needsApproval && plan.approvedAt === null
  const body = html`
    ${sayPlan(plan).map(line => html`<p>${line}</p>`)}
    ${plan.state === 'sealed' && html`<p class="quiet">${t.digest} <code>${plan.digest.slice(0, 16)}</code></p>`}
    ${isOpen && html`<p>${isAuthor ? whyAnother : t.waitsForApproval}</p>`}
    ${isOpen && !isAuthor && html`<${Closed} role="admin" change="person" />`}
    <${Problem} error=${seal.error ?? approve.error} />
    <${StartProblem} error=${apply.error} importId=${importId} />
    <div class="actions">
      ${plan.state === 'unsealed' && may('operator') && html`<${Button} onClick=${seal.run} isBusy=${seal.isBusy}>${t.sealPlan}<//>`}
      ${isOpen && !isAuthor && may('admin', 'person') && html`<${Button} onClick=${approve.run} isBusy=${approve.isBusy}>${t.approvePlan}<//>`}
      ${plan.state === 'sealed' && !isOpen && mayApply && html`<${Button} onClick=${() => (deletes === null ? apply.run() : setAsking(true))} isBusy=${apply.isBusy}>${t.applyPlan}<//>`}
    </div>
    ${isAsking && html`<${ConfirmDeletes} importId=${importId} deletes=${deletes} body=${toApply} onStarted=${onStarted} onClose=${() => setAsking(false)} />`}
  `
  // Most imports need no sealed plan, so an unsealed plan that needs no approval is collapsed.
  return plan.state === 'unsealed' && !plan.needsApproval
    ? html`<details><summary>${t.sealedPlan}</summary>${body}</details>`
    : html`<section aria-labelledby="sealed-plan"><h2 id="sealed-plan">${t.sealedPlan}</h2>${body}</section>`
}

const sayPlan = ({rows, state, sealedAt, sealedBy, expiresAt, approvedAt, approvedBy}: Plan): string[] => {
  if (state === 'unsealed') return [t.aSealedPlanIsAppliedExactly]
  if (state === 'changed') return [t.planChanged]
  if (state === 'expired') return [t.planExpired]
  const sealed = t.sealedBy(rows, sealedBy?.name ?? t.aDeletedPerson, at(sealedAt!), at(expiresAt!))
  return approvedAt === null ? [sealed] : [sealed, t.approvedBy(approvedBy?.name ?? t.aDeletedPerson, at(approvedAt))]
}
