import {Refusal} from '../errors.ts'
import {fileGone} from '../files/sources/read.ts'
import {type FileDeps, openFile, type StoredFile} from '../files/stored-file.ts'
import {openBadBytes} from '../files/text/bad-bytes.ts'
import type {Flow} from '../mapping/flows/flow.ts'
import type {Snapshot, SnapshotSource} from '../mapping/flows/snapshot.ts'
import {StorageMissing} from '../storage/missing.ts'

/** Time limit of a read in ms. Every read starts at the first row of the file. */
const longestMs = 30_000
const mostKeys = 3

type CellsInput = {source: StoredFile; rows: number[]}
export type RowCells = {rowNumber: number; cells: string[]}

/**
 * Reads the cells of single rows after cleaning. `rows` must be in ascending order. Rows that the file does not have are left out. Throws BUSY after
 * 30 s.
 */
export const readRowCells = async (deps: FileDeps, {source, rows: wanted}: CellsInput): Promise<{columns: string[]; rows: RowCells[]}> => {
  const until = Date.now() + longestMs
  try {
    const {columns, rows} = await openFile(deps, source, {bad: openBadBytes()})
    const found: RowCells[] = []
    const last = wanted.at(-1) ?? 0
    const isWanted = new Set(wanted)
    for await (const chunk of rows) {
      for (const {rowNumber, cells} of chunk)
        if (isWanted.has(rowNumber)) found.push({rowNumber, cells: columns.map((_, at) => cells[at] ?? '')})
      if ((chunk.at(-1)?.rowNumber ?? 0) >= last) break
      if (Date.now() > until)
        throw new Refusal('BUSY', `Reading stopped after ${longestMs / 1000} s. Request earlier rows, or try again later`, {
          retryAfterMs: 10_000,
        })
    }
    return {columns, rows: found}
  } catch (error) {
    throw error instanceof StorageMissing ? fileGone() : error
  }
}

export const listMappedColumns = ({flows}: Snapshot, {no}: SnapshotSource) =>
  flows
    .filter(({sourceNo}) => sourceNo === no)
    .flatMap(({flow}) => flow.fields.flatMap(({field}) => columnOf(flow, field).map(column => ({flowId: flow.id, field, column}))))

/** Returns at most three columns by which a person recognises a row: columns of match fields, names and e-mail addresses. */
export const findKeyColumns = ({flows, modules}: Snapshot, {no}: SnapshotSource): string[] => {
  const found = flows.filter(({sourceNo}) => sourceNo === no)
  const columns = found.flatMap(({flow, moduleNo}) => {
    const naming = modules.find(module => module.no === moduleNo)?.namingField ?? null
    return [...(flow.match?.by ?? []), naming, ...usualKeys].flatMap(name => columnOf(flow, name))
  })
  return [...new Set(columns)].slice(0, mostKeys)
}

const usualKeys = ['Account_Name', 'Deal_Name', 'Product_Name', 'First_Name', 'Last_Name', 'Company', 'Email']

const columnOf = ({fields}: Flow, name: string | null): string[] => {
  const mapping = fields.find(({field}) => field === name)
  return mapping?.mode === 'column' && mapping.source != null ? [mapping.source] : []
}
