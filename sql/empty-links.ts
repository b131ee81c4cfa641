/** A lookup field that one row of a flow left empty. */
export type EmptyLink = {flow: number; field: string}

type LinkedRows = {kept: {flow?: number; emptyLinks?: string[] | undefined}[]; emptyLinks?: EmptyLink[] | undefined}

const none: string[] = []

export const countEmptyLinks = ({kept, emptyLinks = []}: LinkedRows): (EmptyLink & {rows: number})[] => {
  const links = [...emptyLinks]
  for (const {flow, emptyLinks: fields} of kept) for (const field of fields ?? none) links.push({flow: flow!, field})
  return [...Map.groupBy(links, ({flow, field}) => `${flow} ${field}`).values()].map(group => ({...group[0]!, rows: group.length}))
}

/** Joins the distinct API names with commas; the names contain no comma. Returns null for an empty list. */
export const joinFields = (fields: readonly string[]): string | null => (fields.length ? [...new Set(fields)].join() : null)
