import type {Flow, Source} from '../imports/import.ts'

const mostKeys = 3

/** Returns the columns by which people recognise a row: those of the match fields, then of names and e-mail addresses. */
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
