import {readIfMatch} from '../shared/configuration/version.ts'
import type {ApiRequest} from './route.ts'

/** Reads the version from the `If-Match` header. */
export const conditionOf = ({headers}: ApiRequest) => readIfMatch(headers['if-match'])
