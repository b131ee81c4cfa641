import type {Tx} from '../../sql/database.ts'
import type {Import} from '../../sql/imports.ts'
import {type Author, type Change, recordChanges} from '../configuration/change.ts'

export const recordImport = (
  tx: Tx,
  author: Author,
  {name, connectorId}: Pick<Import, 'name' | 'connectorId'>,
  change: Pick<Change, 'subject' | 'before' | 'after'>,
): Promise<void> => recordChanges(tx, author, [{page: 'imports', target: name, connectorId, ...change}])
