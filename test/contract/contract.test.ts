import test from 'ava'
import type {Exchange} from '../simulators/crm/exchanges.ts'
import {openChecker} from './checker.ts'
import {correctDocuments} from './correction.ts'
import {judgeExchanges} from './judge.ts'
import {type Document, listOperations} from './openapi.ts'
import {listTraffic} from './traffic.ts'

/** An invented API of shelves with boxes. */
const shelf: Document = {
  name: 'shelf.json',
  json: {
    openapi: '3.1.0',
    servers: [{url: 'https://shelf.{place}/api/{version}', variables: {place: {default: 'test'}, version: {default: 'v1'}}}],
    paths: {
      '/{shelf}': {
        get: {
          parameters: [{$ref: '#/components/parameters/Count'}, {name: 'ids', in: 'query', schema: {type: 'string', maxLength: 5}}],
          responses: {200: {content: {'application/json': {schema: {$ref: '#/components/schemas/Boxes'}}}}, 204: {}},
        },
        post: {
          requestBody: {required: true, content: {'application/json': {schema: {$ref: '#/components/schemas/Boxes'}}}},
          responses: {201: {content: {'application/json': {schema: {type: 'object', required: ['id']}}}}},
        },
      },
      '/inventory': {get: {responses: {200: {content: {'application/json': {schema: {type: 'object', required: ['total']}}}}}}},
    },
    components: {
      parameters: {Count: {name: 'count', in: 'query', required: true, schema: {type: 'integer', maximum: 100}}},
      schemas: {
        Boxes: {
          type: 'object',
          required: ['boxes'],
          additionalProperties: false,
          properties: {boxes: {type: 'array', items: {oneOf: [{$ref: '#/components/schemas/Box'}, {type: 'null'}]}}},
        },
        Box: {type: 'object', required: ['size'], properties: {size: {enum: ['small', 'large']}}, additionalProperties: false},
      },
    },
  },
}
const older: Document = {
  name: 'older.json',
  json: {openapi: '3.0.0', servers: [{url: 'https://shelf.test'}], paths: {'/api/v1/{name}': {get: {responses: {}}, put: {responses: {}}}}},
}

const exchange = (more: Partial<Exchange>): Exchange => ({
  method: 'GET',
  path: '/api/v1/oak',
  query: [['count', '7']],
  contentType: null,
  caller: null,
  body: '',
  faults: [],
  status: 200,
  answer: '{"boxes":[]}',
  ...more,
})
const post = (body: unknown, more: Partial<Exchange> = {}) =>
  exchange({
    method: 'POST',
    query: [],
    contentType: 'application/json',
    body: JSON.stringify(body),
    status: 201,
    answer: '{"id":1}',
    ...more,
  })

const requests: [title: string, exchange: Exchange, differs: string | null][] = [
  ['a request that fits its description is accepted', exchange({}), null],
  ['a body that fits its schema is accepted', post({boxes: [{size: 'small'}, null]}), null],
  ['a path that no document has is reported', exchange({path: '/api/v2/oak'}), 'path: no document'],
  ['a method that no document has is reported', exchange({method: 'DELETE'}), 'path: no document'],
  ['a missing parameter is reported', exchange({query: []}), 'query count: required'],
  [
    'a parameter that does not exist is reported',
    exchange({query: [...exchange({}).query, ['color', 'red']]}),
    'query color: no such parameter',
  ],
  ['a number beyond its limit is reported', exchange({query: [['count', '101']]}), 'query count: maximum'],
  ['a word instead of a number is reported', exchange({query: [['count', 'many']]}), 'query count: type'],
  ['a text that is too long is reported', exchange({query: [...exchange({}).query, ['ids', '123456']]}), 'query ids: maxLength'],
  ['a body for an operation without one is reported', exchange({body: '{}'}), 'body: takes no body'],
  ['a missing body is reported', post({}, {body: ''}), 'body: is not JSON'],
  ['a wrong content type is reported', post({boxes: []}, {contentType: 'text/plain'}), 'content-type: does not take text/plain'],
  ['a value outside its list is reported', post({boxes: [{size: 'huge'}]}), '/boxes/0/size: enum'],
  ['a key that does not exist is reported', post({boxes: [], lids: 1}), '/: additionalProperties'],
]
const answers: [title: string, exchange: Exchange, differs: string | null][] = [
  ['an answer that fits its description is accepted', exchange({}), null],
  ['an empty answer is accepted where it is described', exchange({status: 204, answer: ''}), null],
  ['a text is reported where an empty answer is described', exchange({status: 204, answer: 'none'}), 'body: has no body'],
  ['a status that is not described is reported', exchange({status: 418}), 'status: no answer of status 418'],
  ['an answer that is not JSON is reported', exchange({answer: '<html>'}), 'body: is not JSON'],
  ['a value outside its list is reported', exchange({answer: '{"boxes":[{"size":"huge"}]}'}), '/boxes/0/size: enum'],
  ['a fixed path takes precedence over a path with a variable', exchange({path: '/api/v1/inventory', query: []}), '/: required'],
]

const checker = openChecker([older, shelf])

for (const [side, table] of [
  ['request', requests],
  ['answer', answers],
] as const) {
  for (const [title, given, differs] of table)
    test(`contract check of ${side}s: ${title}`, t => {
      const told = checker[side](given).map(({place, message}) => `${place}: ${message}`)
      if (differs === null) t.deepEqual(told, [])
      else t.true(told.length > 0 && told.every(one => one.startsWith(differs)), told.join('\n') || 'nothing differs')
    })
}

test('the newer of two documents counts, and the older one if no newer one describes the operation', t => {
  t.deepEqual(
    listOperations([older, shelf]).map(({method, document}) => `${method} ${document.name}`),
    ['GET shelf.json', 'POST shelf.json', 'GET shelf.json', 'PUT older.json'],
  )
})

test('a corrected document accepts the correction and nothing else, and a stale correction is an error', t => {
  const about = {document: 'shelf.json', reason: 'a reason', source: 'a source'}
  const huge = {...about, changes: {'/components/schemas/Box/properties/size': {or: {const: 'huge'}}}}
  const teapot = {status: '418', schema: {const: 'teapot'}, reason: 'a reason', source: 'a source'}
  const corrected = openChecker(correctDocuments([shelf], [huge], [teapot]))
  t.deepEqual(corrected.request(post({boxes: [{size: 'huge'}, {size: 'small'}]})), [])
  t.is(corrected.request(post({boxes: [{size: 'tiny'}]})).length > 0, true)
  t.deepEqual(corrected.answer(exchange({status: 418, answer: '"teapot"'})), [])
  t.is(corrected.answer(exchange({status: 418, answer: '"kettle"'})).length, 1)
  t.is(checker.request(post({boxes: [{size: 'huge'}]})).length > 0, true, 'the document itself is left as it is')
  const stale = {...about, changes: {'/components/schemas/Lid/properties/size': {or: {}}}}
  t.throws(() => correctDocuments([shelf], [stale], []), {message: /has no \/components\/schemas\/Lid/})
})

test('requests of the adapter and answers of the simulator count; calls of tests and answers changed by faults do not', t => {
  const wrong = {query: [], answer: '{}'} satisfies Partial<Exchange>
  const verdict = judgeExchanges(
    checker,
    [
      exchange({}),
      exchange({...wrong, caller: 'node'}),
      exchange({...wrong, faults: ['shortData']}),
      exchange({...wrong, faults: ['slow']}),
    ],
    {probes: []},
  )
  t.like(verdict, {requests: 3, answers: 3, spoiled: 1})
  t.deepEqual([...verdict.driven], ['GET /api/v1/{shelf}'])
  t.deepEqual(
    verdict.differences.map(({side, place, count}) => [side, place, count]),
    [
      ['answer', '/', 2],
      ['request', 'query count', 2],
    ],
  )
})

test('a probe request may break the document in its one way, and is named if no test sends it', t => {
  const probe = {probe: 'count', operation: 'GET /api/v1/{shelf}', breaks: 'query count maximum', reason: 'a reason'}
  const isSent = ({query}: Exchange) => query.some(([, value]) => value === '101')
  const judge = (...queries: Exchange['query'][]) =>
    judgeExchanges(
      checker,
      queries.map(query => exchange({query})),
      {probes: [{...probe, isSent}]},
    )
  t.like(judge([['count', '101']]), {probed: 1, differences: {length: 0}, unsent: {length: 0}})
  t.like(judge([['count', '102']]), {probed: 0, differences: {length: 1}, unsent: {length: 1}}, 'the same difference in another request')
  t.like(
    judge([
      ['count', '101'],
      ['color', 'red'],
    ]),
    {probed: 1, differences: {length: 1}},
    'another difference in the probe request',
  )
})

test('a request of an operation that only newer documents describe is counted, and any other unknown request is a difference', t => {
  const newer = [{operation: 'GET /unknown', method: 'GET', path: /^\/unknown$/, reason: 'a reason', source: 'a source'}]
  const judge = (path: string) => judgeExchanges(checker, [exchange({path})], {probes: [], newer})
  t.like(judge('/unknown'), {unchecked: 1, requests: 0, differences: {length: 0}})
  t.deepEqual([...judge('/unknown').newer], ['GET /unknown'])
  t.like(judge('/other'), {unchecked: 0, requests: 1, differences: {length: 1}})
})

test('every test whose exchanges are checked exists', t => {
  t.true(listTraffic().length > 40)
})
