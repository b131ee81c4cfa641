import {html} from '../html.ts'
import {useLoad} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/runs.ts'
import {at} from '../ui/format.ts'
import {sayName} from '../ui/labels.ts'
import {Shown} from '../ui/page.ts'
import {type Cell, canFix, EditRow} from './edit-row.ts'
import type {Entry, LogRecord, RunRow} from './row.ts'
import {sayOutcome} from './rows-query.ts'
import type {Run} from './run.ts'
import type {Source} from './use-tally.ts'
import {sayReason} from './why.ts'

type DetailProps = {importId: string; run: Run; row: RunRow; source: Source}
type Detail = {log: LogRecord[] | null; cells: Cell[] | null}

export const RowDetail = ({importId, run, row, source}: DetailProps) => {
  const detail = useLoad<Detail>(signal => readDetail({importId, run, row, source}, signal), [run.id, row.rowNumber, source.id])
  return html`
    <${Shown} of=${detail}>
      ${({log, cells}: Detail) => html`
        <div class="row-detail">
          <section aria-label=${t.rowOf(row.rowNumber, source.label)}>
            <h3>${t.inTheFile}</h3>
            ${cells !== null && canFix({run, row}) ? html`<${EditRow} importId=${importId} source=${source.id} row=${row.rowNumber} cells=${cells} />` : cells === null ? html`<p class="quiet">${t.theFileWasDeletedOrItsOptions}</p>` : html`<dl class="row-cells">${cells.map(({column, value}) => html`<div><dt>${column}</dt><dd>${value === '' ? html`<span class="quiet">${t.empty}</span>` : value}</dd></div>`)}</dl>`}
          </section>
          <section aria-label=${t.attempts}>
            <h3>${run.dryRun ? t.whatTheDryRunFound : t.attempts}</h3>
            ${log === null && html`<p class="quiet">${t.theLogOfThisRunIsToo}</p>`}
            <ol class="plain row-attempts">${log?.map(record => html`<${Attempt} key=${record.seq} record=${record} entries=${row.entries} />`)}</ol>
          </section>
        </div>
      `}
    <//>
  `
}

const phases: Record<string, string> = {
  patch: t.filledInLater,
  match: t.matchPhase,
  lookup: t.lookupPhase,
  tag: t.tagPhase,
  edit: t.editedValue,
}

const Attempt = ({record, entries}: {record: LogRecord; entries: Entry[]}) => {
  const {phase, attempt, outcome, target, code, message, recordId, at: when, module} = record
  const moduleLabel = entries.find(entry => entry.module === module)?.moduleLabel ?? sayName(module)
  const label = target && (entries.find(({field}) => field === target)?.fieldLabel ?? sayName(target))
  return html`
  <li>
    <strong>${sayOutcome(outcome)}</strong>
    <span class="quiet"> · ${moduleLabel}${phase !== 'write' && ` · ${phases[phase] ?? phase}`}${label && ` · ${label}`}${attempt > 0 ? t.attempt(attempt) : t.notSent} · ${at(when)}</span>
    ${message && html`<p>${sayReason({code, message, field: target || null, fieldLabel: label || null})}</p>`}
    ${(code || recordId) && html`<details class="code-details"><summary>${t.details}</summary>${code && html`<code class="code">${code}</code>`} ${recordId && html`${t.record} <code>${recordId}</code>`}</details>`}
  </li>
`
}

const readDetail = async ({importId, run, row, source}: DetailProps, signal: AbortSignal): Promise<Detail> => {
  const path = inOrg(`/imports/${importId}`)
  const [{log}, cells] = await Promise.all([
    client.get<{log: LogRecord[] | null}>(`${path}/runs/${run.id}/rows/log`, {row: row.rowNumber, source: source.id}, signal),
    // The file may be deleted, or its reader options changed. The log of the row is then shown without cells.
    readCells(`${path}/sources/${source.id}/rows`, row.rowNumber, signal).catch(() => null),
  ])
  return {log, cells}
}

type FileRows = {columns: string[]; fileColumns: string[]; rows: {rowNumber: number; values: string[]; raw: string[]}[]}

/** Reads the cells of a row, after cleaning. Null if the file has no such row. */
export const readCells = async (path: string, row: number, signal: AbortSignal): Promise<Detail['cells']> => {
  const {columns, rows} = await client.get<FileRows>(path, {from: row, limit: 1}, signal)
  const found = rows.find(({rowNumber}) => rowNumber === row)
  return found ? columns.map((column, at) => ({column, value: found.values[at] ?? ''})) : null
}
