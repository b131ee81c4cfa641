import type {ModuleSpec} from './schema.ts'

/** A module with fields of most types, two unique fields, a subform and a multi-select lookup. */
const orders: ModuleSpec = {
  name: 'Orders',
  singular: 'Order',
  plural: 'Orders',
  kind: 'custom',
  fields: [
    {name: 'Name', type: 'text', length: 120, mandatory: true},
    {name: 'Code', type: 'text', length: 40, unique: true, custom: true},
    {name: 'Reference', type: 'text', length: 40, unique: true, custom: true},
    {
      name: 'Status',
      type: 'picklist',
      options: [
        {display: 'Fresh', actual: 'New'},
        'Confirmed',
        'Shipped',
        'Cancelled',
        {display: 'Withdrawn', actual: 'Withdrawn', unused: true},
      ],
      custom: true,
    },
    {name: 'Channels', type: 'multiselectpicklist', options: ['Web', 'Phone', 'Shop'], custom: true},
    {name: 'Quantity', type: 'integer', length: 9, custom: true},
    {name: 'Amount', type: 'currency', length: 16, custom: true},
    {name: 'Weight', type: 'double', length: 9, decimals: 3, custom: true},
    {name: 'Discount', type: 'percent', custom: true},
    {name: 'Serial', type: 'bigint', length: 18, custom: true},
    {name: 'Order_Date', type: 'date', custom: true},
    {name: 'Due_At', type: 'datetime', custom: true},
    {name: 'Paid', type: 'boolean', custom: true},
    {name: 'Account', type: 'lookup', lookup: 'Accounts', custom: true},
    {name: 'Keeper', type: 'userlookup', custom: true},
    {name: 'Number', type: 'autonumber', autoNumber: {prefix: 'ORD-', start: 1000}, custom: true},
    {name: 'Total', type: 'formula', formula: {multiply: ['Quantity', 'Amount']}, custom: true},
    {name: 'Short', type: 'text', length: 10, custom: true},
    {name: 'Contact_Email', type: 'email', length: 100, custom: true},
    {name: 'Notes', type: 'textarea', length: 50_000, rich: true, custom: true},
    {name: 'Secret', type: 'text', length: 50, unused: true, custom: true},
    {
      name: 'Order_Lines',
      type: 'subform',
      custom: true,
      subform: {
        module: 'Order_Lines',
        columns: [
          {name: 'Product', type: 'text', length: 100, mandatory: true, custom: true},
          {name: 'Quantity', type: 'integer', length: 9, custom: true},
          {name: 'Price', type: 'currency', length: 16, custom: true},
          {name: 'Item', type: 'lookup', lookup: 'Products', custom: true},
          {name: 'Note', type: 'text', length: 200, custom: true},
        ],
      },
    },
    {
      name: 'Related_Products',
      type: 'multiselectlookup',
      custom: true,
      links: {module: 'Orders_X_Products', to: 'Products', field: 'Related_Product'},
    },
  ],
}

/** A module with more fields than the fifty that one read may request. */
const surveys: ModuleSpec = {
  name: 'Surveys',
  singular: 'Survey',
  plural: 'Surveys',
  kind: 'custom',
  fields: [
    {name: 'Name', type: 'text', length: 120, mandatory: true},
    ...Array.from({length: 119}, (_, index) => ({name: `Answer_${index + 1}`, type: 'text' as const, length: 100, custom: true})),
  ],
}

const hidden: ModuleSpec = {
  name: 'Audit_Notes',
  singular: 'Audit Note',
  plural: 'Audit Notes',
  kind: 'custom',
  status: 'user_hidden',
  fields: [{name: 'Name', type: 'text', length: 120, mandatory: true}],
}

const withoutApi: ModuleSpec = {
  name: 'Visits',
  kind: 'default',
  apiSupported: false,
  creatable: false,
  editable: false,
  deletable: false,
  status: 'system_hidden',
  fields: [{name: 'Name', type: 'text', length: 120}],
}

export const customModules: ModuleSpec[] = [orders, surveys, hidden, withoutApi]
