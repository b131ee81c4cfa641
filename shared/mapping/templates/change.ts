import type {Tx} from '../../../sql/database.ts'
import type {TemplateRow} from '../../../sql/templates.ts'
import {type Author, type Change, recordChanges} from '../../configuration/change.ts'

type NamedTemplate = Pick<TemplateRow, 'id' | 'name' | 'shared' | 'connectorId'>

/**
 * Records a change of a template in the settings history. A private template is recorded by its id instead of its name, because every
 * member can read the history.
 */
export const recordTemplate = (
  tx: Tx,
  author: Author,
  {id, name, shared, connectorId}: NamedTemplate,
  change: Pick<Change, 'subject' | 'before' | 'after'>,
): Promise<void> => recordChanges(tx, author, [{page: 'templates', target: shared ? name : id, connectorId, ...change}])

/** Returns what the settings history stores of a template: its id and the version of its content. */
export const versionOf = ({id, version}: Pick<TemplateRow, 'id' | 'version'>) => ({templateId: id, version})
