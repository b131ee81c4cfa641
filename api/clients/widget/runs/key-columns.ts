import type {Flow, Source} from '../imports/import.ts'

const mostKeys = 3

/**
 * Returns up to 3 columns by which people recognise a row. Columns of match fields come first, then of names, subjects and e-mail addresses,
 * then the first column.
 */
export const keyColumns = (flows: readonly Flow[], source: Pick<Source, 'columns'>): string[] => {
  const own = new Set(source.columns.map(({name}) => name))
  const of = ({fields}: Flow, isKey: (field: string) => boolean) =>
    fields
      .filter(({field, mode, source: column}) => mode === 'column' && column && own.has(column) && isKey(field))
      .map(({source: column}) => column!)
  const wanted = flows.flatMap(flow => [
    ...of(flow, field => flow.match?.by.includes(field) ?? false),
    ...of(flow, field => /name|subject|email/i.test(field)),
  ])
  const first = source.columns[0]?.name
  return [...new Set([...wanted, ...(first === undefined ? [] : [first])])].slice(0, mostKeys)
}
