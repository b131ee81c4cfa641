import type {KnownFault} from './correction.ts'

const [write, upload] = ['bulk-write-openapi.json', 'upload-openapi.json']
const v80 = 'the same operation in the OpenAPI 3.0 document of bulk writes, v8.0'
const json = 'content/application~1json/schema'
const sent = `/paths/~1write/post/requestBody/${json}/properties/resource/items/properties`
const job = `/paths/~1write~1{jobId}/get/responses/200/${json}`
const resource = `${job}/properties/resource/items/properties`

const refusal = (...codes: string[]) => ({
  type: 'object',
  required: ['code', 'details', 'message', 'status'],
  properties: {code: {enum: codes}, details: {type: 'object'}, message: {type: 'string'}, status: {const: 'error'}},
  additionalProperties: false,
})
const text = {type: 'string'}
const mapping = {
  type: 'object',
  required: ['api_name'],
  properties: {api_name: text, index: {type: 'integer'}, format: text, find_by: text, default_value: {type: 'object', required: ['value']}},
  additionalProperties: false,
}

/** Known faults in the vendor's documents of bulk writes and uploads. */
export const bulkFaults: KnownFault[] = [
  {
    document: write,
    reason: 'Records are found by a unique field too. The enumeration is that of a sample.',
    source: `${v80}: find_by is a text; zoho.com/crm/developer/docs/api/v7/bulk-write/create-job.html: unique field`,
    changes: {[`${sent}/find_by`]: {set: text}},
  },
  {
    document: write,
    reason:
      'A mapping can have a format, a key for links, and a default value without a column. The 3.1 document has them in the answer only.',
    source: `${v80}: field_mappings`,
    changes: {[`${sent}/field_mappings/items`]: {set: mapping}},
  },
  {
    document: write,
    reason: 'The pages have ignore_empty beside the operation, the document in the resource only. Requests have it in both places.',
    source: 'zoho.com/crm/developer/docs/api/v7/bulk-write/create-job.html: ignore_empty',
    changes: {[`/paths/~1write/post/requestBody/${json}/properties/ignore_empty`]: {set: {type: 'boolean'}}},
  },
  {
    document: write,
    reason: 'Codes of refused jobs that the 3.1 document leaves out.',
    source: `${v80}: API_Exception`,
    changes: {
      [`/paths/~1write/post/responses/400/${json}`]: {
        or: refusal(
          'COLUMN_INDEX_NOT_FOUND',
          'INVALID_FIELD',
          'INVALID_FORMAT',
          'HEADER_LIMIT_EXCEEDED',
          'LIMIT_EXCEEDED',
          'FILE_NOT_FOUND',
          'MANDATORY_FIELDS_NOT_MAPPED',
          'MODULE_NOT_AVAILABLE',
          'FILE_NOT_SUPPORTED',
          'MANDATORY_NOT_FOUND',
          'MISSING_REQUIRED_KEY',
        ),
      },
    },
  },
  {
    document: write,
    reason: 'A job without a callback has none. The address of the schema is that of a sample.',
    source: `${v80}: callback is optional, its url is a text`,
    changes: {
      [`${job}/required`]: {set: ['status', 'resource', 'id', 'created_by', 'operation', 'created_time']},
      [`${job}/properties/callback/properties/url`]: {set: text},
    },
  },
  {
    document: write,
    reason: 'Jobs can fail, and a running job is spelled in two ways.',
    source: `${v80}: Resource, status`,
    changes: {
      [`${resource}/status`]: {or: {enum: ['FAILED', 'IN PROGRESS']}},
      [`${resource}/file/properties/status`]: {or: {enum: ['FAILED', 'IN PROGRESS']}},
    },
  },
  {
    document: write,
    reason: 'An unknown job is RESOURCE_NOT_FOUND.',
    source: `${v80}: Resource_Not_Found`,
    changes: {
      '/paths/~1write~1{jobId}/get/responses/404': {set: {content: {'application/json': {schema: refusal('RESOURCE_NOT_FOUND')}}}},
    },
  },
  {
    document: upload,
    reason: 'Missing headers are answered in another shape.',
    source: `${v80}: API_Exception, ERROR_CODE and x-error`,
    changes: {[`/paths/~1upload/post/responses/400/${json}`]: {or: {type: 'object', required: ['ERROR_CODE', 'x-error']}}},
  },
]
