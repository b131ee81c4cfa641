import {listConnectors} from '../../../sql/connectors.ts'
import type {Db} from '../../../sql/database.ts'
import {listMapped, readIdempotencyFields} from '../../configuration/idempotency-field.ts'
import {assertOwn} from '../../configuration/name.ts'
import {Refusal} from '../../errors.ts'
import {type Drift, findDrift} from './drift.ts'
import {Template} from './template.ts'
import {findKnownNow, keepKnown} from './template-fields.ts'

/**
 * The result of a validation. `issues`: why the document cannot be saved with the connection. `problems`: the problems that its imports would
 * have; those with `stops` prevent a run. Each list has at most 100 entries.
 */
type ValidatedTemplate = {
  valid: boolean
  issues: {path: string; message: string}[]
  problems: Drift[]
  connectorId: string | null
  discovery: {id: string; createdAt: string} | null
}

const mostIssues = 100

/** Checks the document against the newest discovery of `connector`, else of the document's own connection. Stores nothing. */
export const validateTemplate = async (
  db: Db,
  {org, document, connector}: {org: string; document: unknown; connector?: string | undefined},
): Promise<ValidatedTemplate> => {
  const connections = await listConnectors(db, org)
  if (connector !== undefined) assertOwn(connections, connector)
  const {data: template, error} = Template.safeParse(document)
  if (!template) {
    const issues = error.issues.slice(0, mostIssues).map(({path, message}) => ({path: path.join('.'), message}))
    return {valid: false, issues, problems: [], connectorId: null, discovery: null}
  }
  const named = connector ?? template.connectorId
  if (named !== null && !connections.some(({id}) => id === named)) throw new Refusal('CONNECTION_NOT_FOUND', 'No such connection')
  const known = await findKnownNow(db, {org, connector: named})
  const {discovery, modules, libraries, settings} = known
  const problems = findDrift(
    {...template, known: keepKnown(template.flows, known)},
    {sources: [], modules: discovery && modules, libraries, settings},
  )
  const {id, createdAt} = discovery ?? {}
  const mapped = named === null ? [] : listMapped(template.flows, await readIdempotencyFields(db, {org, connector: named}))
  return {
    valid: mapped.length === 0 && problems.every(({stops}) => !stops),
    issues: mapped.map(({path, message}) => ({path: ['flows', ...path].join('.'), message})),
    problems: problems.slice(0, mostIssues),
    connectorId: named,
    discovery: id !== undefined && createdAt !== undefined ? {id, createdAt} : null,
  }
}
