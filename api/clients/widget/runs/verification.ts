import {html} from '../html.ts'
import type {LoadedImport} from '../imports/known.ts'
import {useFlowFieldLabels} from '../imports/module-data.ts'
import {embed} from '../state/embed.ts'
import {useLoad} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/verification.ts'
import {count} from '../ui/format.ts'
import {Problem} from '../ui/notice.ts'
import {Download} from './downloads.ts'
import type {Run, VerifyCounts} from './run.ts'

type FieldCounts = {
  flowId: string | null
  field: string
  asSent: number
  truncated: number
  coerced: number
  changed: number
  missing: number
  uncompared: number
}
type Difference = {
  rowNumber: number | null
  flowId: string | null
  field: string
  recordId: string
  result: 'truncated' | 'coerced' | 'changed' | 'missing'
  sent: string | null
  /** Null if the CRM has no value, and always for an embed token. */
  read: string | null
}
type VerifyPage = {fields: FieldCounts[]; differences: Difference[]}

const shownDifferences = 20

type VerificationProps = {run: Run; found: LoadedImport['import']}

export const Verification = ({run, found}: VerificationProps) => {
  const {verify} = run
  if (!verify || verify.rows + verify.waiting + verify.unverified === 0) return null
  return html`
    <section class="verification">
      <h2>${t.readBack}</h2>
      <p>${sayRows(verify)}</p>
      ${verify.rows > 0 && html`<${FoundValues} key=${`${run.id} ${verify.rows}`} run=${run} found=${found} hasDifferences=${hasDifferences(verify)} />`}
    </section>
  `
}

const hasDifferences = ({coerced, changed, missing, patchesCoerced, patchesChanged}: VerifyCounts) =>
  coerced + changed + missing + patchesCoerced + patchesChanged > 0

const sayRows = (verify: VerifyCounts): string => {
  const {rows, coerced, changed, missing, unread, waiting, unverified, patchesCoerced, patchesChanged} = verify
  return [
    t.rowsReadBack(rows),
    ...(!hasDifferences(verify) && unread === 0 && rows > 0 ? [t.allAsSent] : []),
    ...(coerced > 0 ? [t.rowsCoerced(coerced)] : []),
    ...(changed > 0 ? [t.rowsChanged(changed)] : []),
    ...(missing > 0 ? [t.rowsMissing(missing)] : []),
    ...(patchesCoerced > 0 ? [t.patchesCoerced(patchesCoerced)] : []),
    ...(patchesChanged > 0 ? [t.patchesChanged(patchesChanged)] : []),
    ...(unread > 0 ? [t.rowsUnread(unread)] : []),
    ...(waiting > 0 ? [t.rowsWaiting(waiting)] : []),
    ...(unverified > 0 ? [t.rowsUnverified(unverified)] : []),
  ].join(' ')
}

type FoundValuesProps = VerificationProps & {hasDifferences: boolean}

const FoundValues = ({run, found, hasDifferences}: FoundValuesProps) => {
  const page = useLoad(
    signal => client.get<VerifyPage>(inOrg(`/imports/${found.id}/runs/${run.id}/verify`), {limit: shownDifferences}, signal),
    [run.id],
  )
  const sayField = useFlowFieldLabels(found, true)
  if (!page.data) return html`<${Problem} error=${page.error} again=${page.again} />`
  const {fields, differences} = page.data
  return html`
    <table class="cards">
      <thead><tr>${[t.field, t.asSent, t.truncated, t.coerced, t.changed, t.missing].map(head => html`<th scope="col">${head}</th>`)}</tr></thead>
      <tbody>${fields.map(
        ({flowId, field, asSent, truncated, coerced, changed, missing}) =>
          html`<tr><th scope="row" data-label=${t.field}><div class="cell">${sayField(flowId, field)}</div></th>${cells([
            [t.asSent, asSent],
            [t.truncated, truncated],
            [t.coerced, coerced],
            [t.changed, changed],
            [t.missing, missing],
          ])}</tr>`,
      )}</tbody>
    </table>
    ${
      hasDifferences &&
      html`
        <h3>${t.firstDifferences}</h3>
        <table class="cards">
          <thead><tr>${[t.row, t.field, t.found, t.sent, ...(embed.value ? [] : [t.read])].map(head => html`<th scope="col">${head}</th>`)}</tr></thead>
          <tbody>${differences.map(
            ({rowNumber, flowId, field, result, sent, read}) =>
              html`<tr>${cells([
                [t.row, rowNumber ?? ''],
                [t.field, sayField(flowId, field)],
                [t.found, t[result]],
                [t.sent, sent ?? t.empty],
                ...(embed.value ? [] : [[t.read, result === 'missing' ? '' : (read ?? t.empty)] as [string, string]]),
              ])}</tr>`,
          )}</tbody>
        </table>
        <div class="actions"><${Download} found=${found} run=${run} kind="verify">${t.downloadVerifyCsv}<//></div>
      `
    }
  `
}

const cells = (given: [label: string, value: string | number][]) =>
  given.map(
    ([label, value]) => html`<td data-label=${label}><div class="cell">${typeof value === 'number' ? count(value) : value}</div></td>`,
  )
