import {ApiError} from '../../http.ts'
import {html, type Markup} from '../html.ts'
import {embed} from '../state/embed.ts'
import {to} from '../state/place.ts'
import {may} from '../state/session.ts'
import {t} from '../text/decide.ts'
import {messageOf} from '../text/errors.ts'
import {t as undo} from '../text/undo.ts'
import {Button} from '../ui/button.ts'
import {count, onDay} from '../ui/format.ts'
import {CodeDetails, Notice, Problem} from '../ui/notice.ts'
import {ChangedFile} from './changed-file.ts'

type Lift =
  | {by: 'fewer'; rows: number}
  | {by: 'trial'; limit: number | null}
  | {by: 'plan'; name: string; limit: number | null}
  | {by: 'pack'; name: string; credits: number}
  | {by: 'overage'}
  | {by: 'period'; at: string}
  | {by: 'payment'}
  | {by: 'support'}

type RefusedProps = {error: unknown; importId: string; again?: () => void; onFewer?: ((rows: number) => void) | undefined}

export const StartProblem = ({error, importId, again, onFewer}: RefusedProps) => {
  if (!(error instanceof ApiError)) return html`<${Problem} error=${error} again=${again} />`
  if (error.status === 402) return html`<${NoRoom} error=${error} onFewer=${onFewer} />`
  const way = wayOn(error, importId)
  return html`<${Problem} error=${error} again=${way ? undefined : again} />${way && html`<p class="way-on">${way}</p>`}`
}

const wayOn = ({code, body}: ApiError, importId: string): Markup => {
  const run = typeof body?.run === 'string' ? body.run : undefined
  if (code === 'RUN_RETRIED') return html`<a class="button" href=${to('imports', importId, 'run', {run})}>${t.viewTheRetry}</a>`
  if (code === 'RUN_UNDONE') return html`<a class="button" href=${to('imports', importId, 'run', {run})}>${undo.viewTheUndo}</a>`
  if (code === 'IMPORT_RUNNING') return html`<a class="button" href=${to('imports', importId, 'run', {run})}>${t.viewTheActiveRun}</a>`
  if (code === 'SNAPSHOT_CHANGED') return html`<${ChangedFile} importId=${importId} />`
  if (code === 'NOT_READY') return html`<a class="button" href=${to('imports', importId, 'match')}>${t.matchTheColumns}</a>`
  if (embed.value) return null
  if (code === 'WRITES_PAUSED') return html`<a class="button" href=${to('connections')}>${t.goToConnections}</a>`
  if (code === 'FILE_GONE') return html`${t.createA} <a href=${to('imports', 'new')}>${t.newImport}</a>${t.andMatchExistingRecordsInItSo}`
  return null
}

const NoRoom = ({error, onFewer}: {error: ApiError; onFewer?: ((rows: number) => void) | undefined}) => {
  const {limit, used, reserved, remaining, lift = []} = error.body
  return html`
    <${Notice} kind="warning" title=${messageOf(error)}>
      ${typeof remaining === 'number' && html`<p>${t.rowsLeftOfInThisPeriodUsed(remaining, count(limit), count(used))}${reserved ? t.reservedByActiveRuns(count(reserved)) : ''}.</p>`}
      ${lift.length > 0 && html`<p>${t.toContinue}</p><ul>${(lift as Lift[]).map(one => html`<li>${sayLift(one, onFewer)}</li>`)}</ul>`}
      <${CodeDetails} code=${error.code} />
    <//>
  `
}

const plan = (label: string) => (embed.value ? label : html`<a href=${to('settings', 'plan')}>${label}</a>`)

const sayLift = (lift: Lift, onFewer?: (rows: number) => void): Markup => {
  switch (lift.by) {
    case 'fewer':
      return onFewer
        ? html`<${Button} onClick=${() => onFewer(lift.rows)}>${t.writeAtMostRows(lift.rows)}<//>`
        : t.writeAtMostRows(lift.rows)
    case 'trial':
      return html`${may('owner') ? plan(t.startTheTrial) : t.askAnOwnerToStartTheTrial}${lift.limit !== null && t.limit(count(lift.limit))}`
    case 'plan':
      return html`${plan(t.changeTo(lift.name))}${lift.limit !== null && t.limit(count(lift.limit))}`
    case 'pack':
      return plan(t.buy(lift.name))
    case 'overage':
      return plan(t.enableOverage)
    case 'period':
      return t.waitUntilWhenTheNextPeriodBegins(onDay(lift.at))
    case 'payment':
      return plan(t.payTheOverdueInvoice)
    default:
      return t.contactSupport
  }
}
