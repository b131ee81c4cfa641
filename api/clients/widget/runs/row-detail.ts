import {html} from '../html.ts'
import {useLoad} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {at} from '../ui/format.ts'
import {sayName, withLabel} from '../ui/labels.ts'
import {Shown} from '../ui/page.ts'
import {type Cell, canFix, EditRow} from './edit-row.ts'
import type {Entry, LogRecord, RunRow} from './row.ts'
import {sayOutcome} from './rows-query.ts'
import type {Run} from './run.ts'
import type {Source} from './use-tally.ts'

type DetailProps = {importId: string; run: Run; row: RunRow; source: Source}
type Detail = {log: LogRecord[] | null; cells: Cell[] | null}

/** The details of one row: its cells, and every attempt with the CRM's answer. */
export const RowDetail = ({importId, run, row, source}: DetailProps) => {
  const detail = useLoad<Detail>(signal => readDetail({importId, run, row, source}, signal), [run.id, row.rowNumber, source.id])
  return html`
    <${Shown} of=${detail}>
      ${({log, cells}: Detail) => html`
        <div class="row-detail">
          <section aria-label=${`Row ${row.rowNumber} of ${source.label}`}>
            <h3>In the file</h3>
            ${cells !== null && canFix({run, row}) ? html`<${EditRow} importId=${importId} source=${source.id} row=${row.rowNumber} cells=${cells} />` : cells === null ? html`<p class="quiet">The file was deleted, or its options have changed.</p>` : html`<dl class="row-cells">${cells.map(({column, value}) => html`<div><dt>${column}</dt><dd>${value === '' ? html`<span class="quiet">empty</span>` : value}</dd></div>`)}</dl>`}
          </section>
          <section aria-label="Attempts">
            <h3>${run.dryRun ? 'What the dry run found' : 'Attempts'}</h3>
            ${log === null && html`<p class="quiet">The log of this run is too long to search for one row.</p>`}
            <ol class="plain row-attempts">${log?.map(record => html`<${Attempt} key=${record.seq} record=${record} entries=${row.entries} />`)}</ol>
          </section>
        </div>
      `}
    <//>
  `
}

const phases: Record<string, string> = {patch: 'filled in later', match: 'match', lookup: 'lookup', tag: 'tags', edit: 'edited value'}

const Attempt = ({record, entries}: {record: LogRecord; entries: Entry[]}) => {
  const {phase, attempt, outcome, target, code, message, recordId, at: when, module} = record
  const moduleLabel = entries.find(entry => entry.module === module)?.moduleLabel ?? sayName(module)
  const label = target && (entries.find(({field}) => field === target)?.fieldLabel ?? sayName(target))
  return html`
  <li>
    <strong>${sayOutcome(outcome)}</strong>
    <span class="quiet"> · ${moduleLabel}${phase !== 'write' && ` · ${phases[phase] ?? phase}`}${label && ` · ${label}`}${attempt > 0 ? ` · attempt ${attempt}` : ' · not sent'} · ${at(when)}</span>
    ${message && html`<p>${withLabel(message, target || null, label || null)}</p>`}
    ${(code || recordId) && html`<details class="code-details"><summary>Details</summary>${code && html`<code class="code">${code}</code>`} ${recordId && html`record <code>${recordId}</code>`}</details>`}
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

/** Reads the cells of a row, after cleaning. */
export const readCells = async (path: string, row: number, signal: AbortSignal): Promise<Detail['cells']> => {
  const {columns, rows} = await client.get<FileRows>(path, {from: row, limit: 1}, signal)
  const found = rows.find(({rowNumber}) => rowNumber === row)
  return found ? columns.map((column, at) => ({column, value: found.values[at] ?? ''})) : null
}
