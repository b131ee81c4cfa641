import {readIfMatch} from '../shared/configuration/version.ts'
import type {ApiRequest} from './route.ts'

/** Reads the version from the `If-Match` header. Null if the header is missing or `*`. Throws BAD_IF_MATCH if it is malformed. */
export const conditionOf = ({headers}: ApiRequest) => readIfMatch(headers['if-match'])
