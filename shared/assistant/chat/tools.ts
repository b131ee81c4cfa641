import type {Hot, Pool} from '../../../sql/database.ts'
import type {Parsing} from '../../files/parser/pool.ts'
import type {Storage} from '../../storage/storage.ts'
import {explainIssue} from './explain-issue.ts'
import {getSchema} from './get-schema.ts'
import {proposeMapping} from './propose-mapping.ts'
import {testExpression} from './test-expression.ts'
import type {ChatTool} from './tool.ts'

type ChatToolDeps = {db: Pool; hot: Hot; storage: Storage; parsing: Parsing}

export const chatTools = ({db, hot, storage, parsing}: ChatToolDeps): ChatTool[] => [
  getSchema(db),
  proposeMapping({db, parsing}),
  testExpression(db),
  explainIssue({db, hot, storage}),
]
