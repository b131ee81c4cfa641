import {readIfMatch} from '../shared/registry/version.ts'
import type {Asked} from './route.ts'

/** The version a write was made against, as its `If-Match` says. */
export const conditionOf = ({headers}: Asked) => readIfMatch(headers['if-match'])
