import {bulkFaults} from './bulk-faults.ts'
import type {CommonAnswer, KnownFault} from './correction.ts'

/** Returns the schema of a refusal of a whole call: `{code, details, message, status}`, not in a list. */
const bare = (...codes: string[]) => ({
  type: 'object',
  required: ['code', 'details', 'message', 'status'],
  properties: {code: {enum: codes}, details: {type: 'object'}, message: {type: 'string'}, status: {const: 'error'}},
  additionalProperties: false,
})

const bareSource = 'OpenAPI 3.1 of List of Available APIs and of module search, which describe the refusals of a whole call so'

/** Refusals that every call of the CRM can get. The documents list them for some operations only, or wrap them in `data`. */
export const commonAnswers: CommonAnswer[] = [
  {
    status: '401',
    schema: bare('AUTHENTICATION_FAILURE', 'INVALID_TOKEN', 'OAUTH_SCOPE_MISMATCH'),
    reason: 'Every call needs a token and a scope. Most operations list no 401, or one code of the three.',
    source:
      'zoho/crm-oas v8.0 of 2025, record: API_Exception; github.com/api-evangelist/zoho-crm, sandbox: unauthenticated calls that were made',
  },
  {
    status: '403',
    schema: bare('NO_PERMISSION'),
    reason: 'Every call needs a permission of the profile. Most operations list no 403, or wrap it in `data`.',
    source: bareSource,
  },
  {status: '404', schema: bare('INVALID_URL_PATTERN'), reason: 'The record operations wrap it in `data`.', source: bareSource},
  {
    status: '429',
    schema: bare('TOO_MANY_REQUESTS'),
    reason: 'Every call counts for the limits. Only search lists a 429, with a code that the limits page does not have.',
    source: 'zoho.com/crm/developer/docs/api/v8/api-limits.html: error code TOO_MANY_REQUESTS',
  },
]

const v80 = 'the same operation in the OpenAPI 3.0 documents of zoho/crm-oas, v8.0'
const sdk = 'the vendor’s SDK, @zohocrm/nodejs-sdk-8.0 2.0.0, lib/config/json_details.json'
const [record, search, coql] = ['crm-record-openapi.json', 'crm-module-search-openapi.json', 'crm-coql-openapi.json']
const [modules, fields, users] = ['crm-modules-openapi.json', 'crm-fields-openapi.json', 'crm-users-openapi.json']
const layouts = 'crm-layouts-openapi.json'

const json = 'content/application~1json/schema'
const saved = {$ref: '#/components/schemas/RecordSuccessResponse/properties/data/items'}
/** Pointers as they are after the first change below, which turns these schemas into a choice of two. */
const refusedRecord = '/components/schemas/RecordsErrorResponse/anyOf/0/properties/data/items'
const unread = '/components/schemas/RecordGETErrorResponse/anyOf/0/properties/data/items'
const refused = {$ref: `#${refusedRecord}`}
const mixed = {type: 'object', required: ['data'], properties: {data: {type: 'array', items: {anyOf: [saved, refused]}}}}
const mixedAnswer = {set: {content: {'application/json': {schema: mixed}}}}
const savedKeys = '/components/schemas/RecordSuccessResponse/properties/data/items/properties'
const read = '/components/schemas/RecordGETSucessResponse/properties'
const person = {type: 'object', required: ['id'], properties: {id: {type: 'string'}, name: {type: 'string'}, email: {type: 'string'}}}
const criteria = `/paths/~1{module}~1search/get/responses/400/${json}`
const criteriaDetails = {type: 'object', required: ['api_name'], additionalProperties: {type: 'string'}}
const encryption = {
  type: 'object',
  required: ['mode', 'status'],
  properties: {mode: {type: 'string'}, encrypt_case: {type: ['string', 'null']}, status: {type: 'number'}},
  additionalProperties: false,
}
const modulesListed = `/paths/~1settings~1modules/get/responses/200/${json}/properties/modules/items/properties`
const moduleRead = '/paths/~1settings~1modules~1{moduleIdentifier}/get/responses'
const fieldsListed = `/paths/~1settings~1fields/get/responses/200/${json}/properties/fields`

/** Faults of the vendor's documents. A fault of the adapter or the simulator is not listed here, but corrected in its code. */
export const knownFaults: KnownFault[] = [
  ...bulkFaults,
  {
    document: record,
    reason: 'A refusal of the whole call is bare. The document has it in a list beside those of records.',
    source: bareSource,
    changes: {
      '/components/schemas/RecordsErrorResponse': {or: refused},
      '/components/schemas/RecordGETErrorResponse': {or: {$ref: `#${unread}`}},
    },
  },
  {
    document: record,
    reason: 'A batch of which some records are refused is answered 207. The document has that for deletes only.',
    source: 'zoho/crm-oas of 2026, v8.0/record, operations create, update and upsert: 207',
    changes: {
      '/paths/~1{module}/post/responses/207': mixedAnswer,
      '/paths/~1{module}/put/responses/207': mixedAnswer,
      '/paths/~1{module}~1upsert/post/responses/207': mixedAnswer,
    },
  },
  {
    document: record,
    reason: 'If-Modified-Since is answered 304. The document leaves out the header and the answer.',
    source: `${v80}: header If-Modified-Since`,
    changes: {'/paths/~1{module}/get/responses/304': {set: {}}, '/paths/~1{module}~1{recordID}/get/responses/304': {set: {}}},
  },
  {
    document: record,
    reason: 'Upsert says of each record whether it was created and by which field it was found.',
    source: `${v80}: RecordSuccess, action and duplicate_field`,
    changes: {
      [`${savedKeys}/action`]: {set: {enum: ['insert', 'update']}},
      [`${savedKeys}/duplicate_field`]: {set: {type: ['string', 'null']}},
    },
  },
  {
    document: record,
    reason: 'An insert can name an assignment rule. The document has the key for upserts only.',
    source: `zoho.com/crm/developer/docs/api/v7/insert-records.html: lar_id; ${sdk}: body_wrapper of createRecords, larId`,
    changes: {'/components/schemas/RecordsInputSchema/properties/lar_id': {set: {type: ['string', 'null']}}},
  },
  {
    document: record,
    reason: 'Codes of refused records and reads that the list leaves out.',
    source: `zoho/crm-oas of 2026, v8.0/record, update: DuplicateLinkingDataError; NOT_SUPPORTED: ${v80}, API_Exception`,
    changes: {[`${refusedRecord}/properties/code`]: {or: {enum: ['DUPLICATE_LINKING_DATA', 'NOT_SUPPORTED']}}},
  },
  {
    document: record,
    reason:
      'Open: may one changed record of a batch be refused alone? The document has 412 only. The doctor finds out, so tests play both.',
    source: 'the same document, operation update: 412, code ALREADY_MODIFIED',
    changes: {[`${refusedRecord}/properties/code`]: {or: {const: 'ALREADY_MODIFIED'}}},
  },
  {
    document: record,
    reason: 'Only a wrong part of the path has an index; a wrong parameter has its name.',
    source: 'zoho.com/crm/developer/docs/api/v7/get-records.html: REQUIRED_PARAM_MISSING, its details give the missing param',
    changes: {[`${unread}/properties/details/required`]: {remove: true}},
  },
  {
    document: record,
    reason: 'Every user in a record has an e-mail address. The document has it for the owner only.',
    source: `${sdk}: Record, created_by and modified_by are of class MinifiedUser, which has email`,
    changes: {
      [`${read}/data/items/properties/Created_By`]: {set: person},
      [`${read}/data/items/properties/Modified_By`]: {set: person},
    },
  },
  {
    document: record,
    reason: 'Before the first page and after the last one, the key is present without a token.',
    source: 'zoho.com/crm/developer/docs/api/v7/get-records.html: previous_page_token is null in the sample',
    changes: Object.fromEntries(
      ['next_page_token', 'previous_page_token', 'page_token_expiry'].map(key => [`${read}/info/properties/${key}`, {or: {type: 'null'}}]),
    ),
  },
  {
    document: record,
    reason: 'A page has up to 200 records.',
    source: 'zoho.com/crm/developer/docs/api/v7/get-records.html: per_page, maximum 200',
    changes: {[`${read}/data/maxItems`]: {set: 200}},
  },
  {
    document: record,
    reason: 'A hundred ids of 19 digits are 1,999 characters, and fifty names of fields can be more than 1,024.',
    source: `${v80}: neither has a bound; zoho.com/crm/developer/docs/api/v7/get-records.html: up to 50 fields`,
    changes: {'/components/parameters/Ids/schema/maxLength': {set: 1999}, '/components/parameters/Fields/schema/maxLength': {set: 5049}},
  },
  {
    document: record,
    reason: 'A delete can keep workflows from running. The document leaves the parameter out.',
    source: `${v80}: wf_trigger; zoho.com/crm/developer/docs/api/v7/delete-records.html: wf_trigger`,
    changes: {'/paths/~1{module}/delete/parameters/2': {set: {name: 'wf_trigger', in: 'query', schema: {type: 'boolean'}}}},
  },
  {
    document: record,
    reason: 'If no record of a list is deleted, each is refused as in a 207. The schema of 400 has one code, NO_PERMISSION.',
    source: 'the same answer, 400: its description names invalid data; the same operation, 207: code INVALID_DATA',
    changes: {[`/paths/~1{module}/delete/responses/400/${json}`]: {or: {$ref: `#/paths/~1{module}/delete/responses/207/${json}`}}},
  },
  {
    document: record,
    reason: 'A locked or unapproved record of a list is refused alone. The document has these codes for the whole call only.',
    source: 'the same operation, 400: codes RECORD_LOCKED and NOT_APPROVED',
    changes: {
      [`/paths/~1{module}/delete/responses/207/${json}/properties/data/items/oneOf/1/properties/code`]: {
        or: {enum: ['RECORD_LOCKED', 'NOT_APPROVED']},
      },
    },
  },
  {
    document: record,
    reason: 'A refusal to delete one record is in a list, like the refusals of several.',
    source: `${v80}: DELETE of one record answers data`,
    changes: {
      [`/paths/~1{module}~1{recordID}/delete/responses/400/${json}`]: {
        or: {$ref: `#/paths/~1{module}/delete/responses/207/${json}`},
      },
    },
  },
  {
    document: search,
    reason:
      'The details of a wrong criteria name the field. The schema requires api_name and allows no such key; one text fits two branches.',
    source: 'the same schema, where api_name is required',
    changes: {
      [`${criteria}/oneOf/4/properties/details`]: {set: criteriaDetails},
      [`${criteria}/oneOf/5/properties/details`]: {set: criteriaDetails},
      [`${criteria}/oneOf/5/properties/message/enum/1`]: {set: ''},
    },
  },
  {
    document: search,
    reason: 'A word or phone number that is too short is INVALID_DATA. The list of codes has it, the answer 400 does not.',
    source: 'the same document: components/schemas/ErrorResponse',
    changes: {[`${criteria}`]: {or: bare('INVALID_DATA')}},
  },
  {
    document: coql,
    reason: 'A query answers up to 2,000 rows.',
    source: 'zoho.com/crm/developer/docs/api/v8/COQL-Limitations.html: 2,000 records in a call',
    changes: {[`/paths/~1coql/post/responses/200/${json}/properties/data/maxItems`]: {set: 2000}},
  },
  {
    document: modules,
    reason: 'The list of modules has both keys; the document has display_field for one module only.',
    source: `${v80}; ${sdk}: Modules, visible and display_field`,
    changes: {
      [`${modulesListed}/visible`]: {set: {type: 'boolean'}},
      [`${modulesListed}/display_field`]: {set: {$ref: `#${moduleRead}/200/${json}/properties/modules/items/properties/display_field`}},
      [`${moduleRead}/200/${json}/properties/modules/items/properties/visible`]: {set: {type: 'boolean'}},
    },
  },
  {
    document: modules,
    reason: 'A module that does not exist is INVALID_MODULE.',
    source: `${v80}: code INVALID_MODULE`,
    changes: {[`${moduleRead}/400/${json}`]: {or: bare('INVALID_MODULE')}},
  },
  {
    document: fields,
    reason: 'The vendor’s SDK reads the fields without include, so no CRM requires it.',
    source: '@zohocrm/nodejs-sdk-8.0 2.0.0, lib/utils/util/utility.js: getFieldsDetails sends module alone',
    changes: {'/components/parameters/Includes/required': {set: false}},
  },
  {
    document: fields,
    reason: 'A field has a default value.',
    source: `${v80}; ${sdk}: Fields, default_value`,
    changes: {'/components/schemas/FieldSchema/properties/default_value': {set: {}}},
  },
  {
    document: fields,
    reason: 'A module may have more than 100 fields.',
    source: `${v80}: fields has no bound`,
    changes: {[`${fieldsListed}/maxItems`]: {remove: true}},
  },
  {
    document: layouts,
    reason: 'A field has the same keys in a layout as in the list of fields. The document allows no encrypted field there.',
    source: 'OpenAPI 3.1 of fields: FieldSchema, crypt',
    changes: {'/components/schemas/FieldSchema/properties/crypt': {or: encryption}},
  },
  {
    document: users,
    reason: 'A wrong type is refused with 400.',
    source: `${v80}: GET /users, 400`,
    changes: {'/paths/~1users/get/responses/400': {set: {content: {'application/json': {schema: bare('INVALID_DATA')}}}}},
  },
]
