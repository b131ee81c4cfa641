import type {Db} from '../../../sql/database.ts'
import {listLibraryRows} from '../../../sql/libraries.ts'
import {describeLibrary} from './library.ts'

export const listLibraries = async (db: Db, org: string, {source = false}: {source?: boolean} = {}): Promise<object[]> =>
  (await listLibraryRows(db, org)).map(library => describeLibrary(library, {source}))
