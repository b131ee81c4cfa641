import type {Tx} from '../../../sql/database.ts'
import type {TemplateRow} from '../../../sql/templates.ts'
import {type Author, type Change, recordChanges} from '../../configuration/change.ts'

type NamedTemplate = Pick<TemplateRow, 'id' | 'name' | 'shared' | 'connectorId'>

/**
 * Records the change in the settings history, which every member can read. A private template is therefore recorded by its id instead of its name.
 */
export const recordTemplate = (
  tx: Tx,
  author: Author,
  {id, name, shared, connectorId}: NamedTemplate,
  change: Pick<Change, 'subject' | 'before' | 'after'>,
): Promise<void> => recordChanges(tx, author, [{page: 'templates', target: shared ? name : id, connectorId, ...change}])

/** What the settings history stores of a template. */
export const versionOf = ({id, version}: Pick<TemplateRow, 'id' | 'version'>) => ({templateId: id, version})
